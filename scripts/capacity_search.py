"""Asking EC2 for offers of capacity blocks, in the file's region or in every one that sells the type."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from scripts.aws import capacity_blocks
from scripts.aws.cloud import Cloud
from scripts.aws.translation import AwsError, CredentialsError
from stacks.domain.capacity_market.offers import Offer, ranked
from stacks.domain.capacity_market.search_report import Found
from stacks.domain.capacity_market.wanted import Wanted, regions_that_offer
from stacks.domain.catalog import Catalog
from stacks.domain.errors import WorldError

_ULTRASERVER_REFUSED = re.compile(r"not (authorized|allowed|permitted|eligible).*ultraserver", re.IGNORECASE)


def regions(wanted: Wanted, catalog: Catalog, *, everywhere: bool) -> tuple[str, ...]:
    if not everywhere:
        return (wanted.region,)
    return regions_that_offer(wanted.instance_type, catalog, wanted.region)


def search(
    cloud: Cloud,
    wanted: Wanted,
    of_file: Wanted | None,
    regions: Sequence[str],
    catalog: Catalog,
    as_of: datetime,
) -> Found:
    """`of_file`: what a purchase would ask for. A region that gives no answer is named with its reason. Raises WorldError when none gives one."""
    offers: list[Offer] = []
    not_asked: list[tuple[str, str]] = []
    errors: list[WorldError] = []
    for region in regions:
        try:
            offers += ask(in_region(cloud, region), wanted)
        except WorldError as error:
            if region == cloud.region and isinstance(error, CredentialsError):
                raise
            errors.append(error)
            not_asked.append((region, error.message))
    if len(errors) == len(regions):
        raise errors[0]
    return Found(wanted, of_file, as_of, tuple(regions), ranked(offers, catalog), tuple(not_asked))


def ask(cloud: Cloud, wanted: Wanted) -> tuple[Offer, ...]:
    """Raises WorldError."""
    try:
        return capacity_blocks.offers(cloud, wanted.parameters())
    except AwsError as error:
        if wanted.is_ultraserver and _ULTRASERVER_REFUSED.search(error.reason):
            raise WorldError(
                f"this account may not buy UltraServers in {cloud.region}; EC2 says: {error.reason}",
                "no policy of yours changes that: access is given by account, ask your AWS account team; "
                "`--by instances` asks for plain instances",
            ) from error
        raise


def no_offers(found: Found) -> WorldError:
    """What was asked, and what else to try."""
    wanted = found.wanted
    others = [
        "another duration (--days)",
        "later dates (--from, --until)",
        "fewer nodes (--nodes)",
        *(["every region (--everywhere)"] if len(found.regions) == 1 else []),
    ]
    return WorldError(
        f"no offers for {wanted.capacity}: {wanted.text()} in {', '.join(found.regions)}",
        f"try {', '.join(others)}; offers come and go: ask again later",
    )


def in_region(cloud: Cloud, region: str) -> Cloud:
    return cloud if region == cloud.region else replace(cloud, region=region)
