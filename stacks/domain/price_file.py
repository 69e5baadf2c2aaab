"""The user's own prices: negotiated ones, a block's fee, discounts. Every row says whose price it is and of when.

prices:
  - {instance_type: TYPE, kind: on-demand, region: us-east-2, usd: 17.2, unit: hour, as_of: 2026-11-01, source: our contract}
  - {what: nat-gateway, region: us-east-2, usd: 0.04, unit: hour, as_of: 2026-11-01, source: our contract}
  - {capacity: block, region: us-east-2, usd: 20597.0, unit: block, hours: 24, as_of: 2026-11-30, source: the offering}
discounts:
  - {service: AmazonEC2, percent: 12, as_of: 2026-11-01, source: our contract}
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any, Final

from stacks.domain.catalog import Catalog
from stacks.domain.catalog.prices import earliest_date
from stacks.domain.environment.source import Path, Source, format_path, parse, read_text
from stacks.domain.findings import Finding, FindingsError, Severity, closest, one_of
from stacks.domain.prices import SERVICE_CODES, SERVICE_UNITS, Discount, PriceKey, Unit, UnitPrice

SOURCE = "`neuronkit plan --help`: --price-file"
SECTIONS: Final = ("prices", "discounts")
SUBJECTS: Final = ("instance_type", "what", "capacity")
PRICE_KEYS: Final = (*SUBJECTS, "kind", "region", "usd", "unit", "hours", "as_of", "source")
DISCOUNT_KEYS: Final = ("service", "percent", "as_of", "source")
_KINDS: Final = ("on-demand", "spot")
_FOREIGN: Final = re.compile(r"eur|gbp|chf|cny|jpy|inr|currency", re.IGNORECASE)
_DATE: Final = re.compile(r"\d{4}-\d{2}(-\d{2})?")
_UNITS: Mapping[Unit, str] = {"instance-hour": "hour", "hour": "hour", "block": "block"}


@dataclass(frozen=True, slots=True)
class PriceFile:
    """Prices by region; `discounts` by service code."""

    prices: Mapping[str, Mapping[PriceKey, UnitPrice]]
    discounts: Mapping[str, Discount]
    capacities: Mapping[str, Finding]
    """Every capacity that a row names, with what to say when the environment file has none of that name."""

    def refuse_other_capacities(self, names: Iterable[str]) -> None:
        """Raises FindingsError: a fee of a capacity that is not there would silently count for nothing."""
        known = frozenset(names)
        findings = [finding for name, finding in self.capacities.items() if name not in known]
        if findings:
            allowed = f"allowed: {one_of(sorted(known))}"
            raise FindingsError([replace(finding, allowed=allowed) for finding in findings])


def read_price_file(path: FilePath, catalog: Catalog) -> PriceFile:
    """Raises FindingsError with everything that is wrong with it."""
    source = parse(read_text(path, str(path)), str(path))
    reader = _Reader(source, catalog)
    found = reader.read()
    if source.findings or reader.findings:
        findings = (*source.findings, *reader.findings)
        raise FindingsError(sorted(findings, key=lambda f: (f.line or 0, f.column or 0)))
    return found


@dataclass(slots=True)
class _Reader:
    source: Source
    catalog: Catalog
    findings: list[Finding] = field(default_factory=list)
    capacities: dict[str, Finding] = field(default_factory=dict)

    def read(self) -> PriceFile:
        self._refuse_unknown_keys((), self.source.data, SECTIONS)
        if not any(section in self.source.data for section in SECTIONS):
            self._find("NK276", (), "", "`prices:` or `discounts:`", "missing", "add `prices:`")
        prices: dict[str, dict[PriceKey, UnitPrice]] = {}
        for path, row in self._rows("prices", PRICE_KEYS):
            self._read_price(path, row, prices)
        discounts: dict[str, Discount] = {}
        for path, row in self._rows("discounts", DISCOUNT_KEYS):
            self._read_discount(path, row, discounts)
        return PriceFile(prices, discounts, self.capacities)

    def _rows(self, section: str, keys: tuple[str, ...]) -> Iterator[tuple[Path, dict[str, Any]]]:
        rows = self.source.data.get(section, ())
        if not isinstance(rows, tuple):
            self._find(
                "NK277", (section,), self._raw((section,)), "a list of mappings", "", "begin each with `- `"
            )
            return
        for index, row in enumerate(rows):
            path: Path = (section, index)
            if isinstance(row, dict):
                self._refuse_unknown_keys(path, row, keys)
                yield path, row
            else:
                self._find("NK277", path, self._raw(path), f"a mapping of {one_of(keys)}", "", "")

    def _read_price(
        self, path: Path, row: dict[str, Any], prices: dict[str, dict[PriceKey, UnitPrice]]
    ) -> None:
        before = len(self.findings)
        key = self._key(path, row)
        region = self._text(path, row, "region", "an AWS region", list(self.catalog.regions).__contains__)
        unit = self._unit(path, row, key)
        usd = self._number(path, row, "usd", "US dollars for one unit, above 0", least=0.0)
        hours = self._hours(path, row, unit)
        as_of, said_by = self._origin(path, row)
        if key is None or unit is None or len(self.findings) > before:
            return
        known = prices.setdefault(str(region), {})
        if key in known:
            self._find("NK279", path, key.name, "one row for each price and region", "twice", "remove one")
            return
        source = f"your price file {self.source.file}: {said_by}"
        known[key] = UnitPrice(usd, unit, source, as_of, hours=hours)

    def _read_discount(self, path: Path, row: dict[str, Any], discounts: dict[str, Discount]) -> None:
        before = len(self.findings)
        codes = sorted(set(SERVICE_CODES.values()))
        service = self._text(path, row, "service", one_of(codes), codes.__contains__)
        percent = self._number(
            path, row, "percent", "percent off, above 0 and below 100", least=0.0, most=100.0
        )
        as_of, said_by = self._origin(path, row)
        if len(self.findings) > before:
            return
        if service in discounts:
            self._find("NK279", path, str(service), "one discount for each service", "twice", "remove one")
        else:
            discounts[str(service)] = Discount(
                percent, f"your price file {self.source.file}: {said_by}, {as_of}"
            )

    def _key(self, path: Path, row: dict[str, Any]) -> PriceKey | None:
        named = [subject for subject in SUBJECTS if subject in row]
        if len(named) != 1:
            given = ", ".join(named) if named else ""
            self._find("NK276", path, given, f"exactly one of {one_of(SUBJECTS)}", "whose price?", "")
            return None
        if named[0] == "capacity":
            name = self._text(
                path, row, "capacity", "the name of an entry under `capacity` of the environment file"
            )
            if not name:
                return None
            fix = "name an entry under `capacity` of the environment file"
            self.capacities[name] = self._finding(
                "NK278", (*path, "capacity"), name, "", "no such capacity", fix
            )
            return PriceKey("capacity", name)
        if named[0] == "what":
            items = list(SERVICE_UNITS)
            name = self._text(path, row, "what", one_of(items), items.__contains__, items)
            return PriceKey("service", name) if name else None
        types = list(self.catalog.instance_types)
        name = self._text(
            path,
            row,
            "instance_type",
            "an EC2 instance type of `neuronkit catalog`",
            types.__contains__,
            types,
        )
        kind = (
            self._text(path, row, "kind", one_of(_KINDS), _KINDS.__contains__)
            if "kind" in row
            else "on-demand"
        )
        if not name or not kind:
            return None
        return PriceKey("spot" if kind == "spot" else "on-demand", name)

    def _unit(self, path: Path, row: dict[str, Any], key: PriceKey | None) -> Unit | None:
        if key is None:
            return None
        unit = _unit_of(key)
        word = _UNITS.get(unit, unit)
        return unit if self._text(path, row, "unit", word, word.__eq__) else None

    def _hours(self, path: Path, row: dict[str, Any], unit: Unit | None) -> float | None:
        if unit == "block":
            return self._number(path, row, "hours", "the hours of the block, above 0", least=0.0)
        if "hours" in row:
            self._find(
                "NK277",
                (*path, "hours"),
                self._raw((*path, "hours")),
                "hours with `unit: block` only",
                "",
                "remove it",
            )
        return None

    def _origin(self, path: Path, row: dict[str, Any]) -> tuple[str, str]:
        allowed = "the day or month of the price: YYYY-MM-DD or YYYY-MM"
        as_of = self._text(path, row, "as_of", allowed, _is_date)
        said_by = self._text(path, row, "source", "who says so: a contract, an offering, a quote")
        return as_of or "", said_by or ""

    def _text(
        self,
        path: Path,
        row: dict[str, Any],
        key: str,
        allowed: str,
        fits: Callable[[str], bool] = bool,
        words: Sequence[str] = (),
    ) -> str | None:
        value = row.get(key)
        if key not in row:
            self._find("NK276", path, "", f"{key}: {allowed}", f"`{key}` is missing", f"add `{key}:`")
        elif not isinstance(value, str) or not value.strip() or not fits(value):
            near = closest(value, words) if isinstance(value, str) and words else None
            self._find(
                "NK277",
                (*path, key),
                self._raw((*path, key)),
                allowed,
                "",
                f"did you mean {near!r}?" if near else "",
            )
        else:
            return value
        return None

    def _number(
        self, path: Path, row: dict[str, Any], key: str, allowed: str, *, least: float, most: float = math.inf
    ) -> float:
        value = row.get(key)
        if key not in row:
            self._find("NK276", path, "", f"{key}: {allowed}", f"`{key}` is missing", f"add `{key}:`")
        elif isinstance(value, bool) or not isinstance(value, int | float):
            fix = "write the number without currency, quotes or units; other currencies are not converted"
            self._find("NK277", (*path, key), self._raw((*path, key)), allowed, "", fix)
        elif not (least < value < most):
            self._find("NK277", (*path, key), self._raw((*path, key)), allowed, "", "")
        else:
            return float(value)
        return math.nan

    def _refuse_unknown_keys(self, path: Path, row: Mapping[str, Any], keys: tuple[str, ...]) -> None:
        for key in row:
            if key not in keys:
                near = closest(key, keys)
                fix = f"did you mean {near!r}?" if near else "remove it"
                if _FOREIGN.fullmatch(key):
                    fix = "prices are in US dollars, under `usd`: no other currency is converted"
                self._find("NK275", (*path, key), f"unknown key {key!r}", one_of(keys), "", fix, at_key=True)

    def _raw(self, path: Path) -> str:
        return self.source.raw.get(path, "") or "no single value"

    def _find(
        self, id_: str, path: Path, given: str, allowed: str, message: str, fix: str, *, at_key: bool = False
    ) -> None:
        self.findings.append(self._finding(id_, path, given, allowed, message, fix, at_key=at_key))

    def _finding(
        self, id_: str, path: Path, given: str, allowed: str, message: str, fix: str, *, at_key: bool = False
    ) -> Finding:
        place = self.source.key_position(path) if at_key else self.source.position(path)
        return Finding(
            id=id_,
            severity=Severity.ERROR,
            file=self.source.file,
            line=place.line if place else None,
            column=place.column if place else None,
            path=format_path(path),
            given=given,
            allowed=f"allowed: {allowed}",
            message=message,
            fix=fix,
            source=SOURCE,
        )


def _unit_of(key: PriceKey) -> Unit:
    if key.kind == "capacity":
        return "block"
    return next((unit for item, unit in SERVICE_UNITS.items() if key.name == item), "instance-hour")


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        earliest_date(text)
    except ValueError:
        return False
    return True
