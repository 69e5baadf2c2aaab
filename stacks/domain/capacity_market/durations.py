"""The steps in which EC2 sells capacity blocks: days to 14 days, then weeks to 26 weeks."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

from stacks.domain.errors import InputError

# botocore 1.44.8, DescribeCapacityBlockOfferings.CapacityDurationHours
DAYS_IN_STEPS_OF_ONE_MAX = 14
DAYS_MAX = 182
_DAYS_A_WEEK = 7
_HOURS_A_DAY = 24


def sold_hours(hours: Decimal) -> tuple[int, str]:
    """The shortest duration that EC2 sells and that holds `hours`; and in words what was rounded, or "".

    Raises InputError for what no block can hold."""
    if not hours.is_finite() or hours <= 0:
        raise InputError(f"a block of {hours} hours: it has to last longer than nothing", _steps())
    if hours > DAYS_MAX * _HOURS_A_DAY:
        raise InputError(f"a block of {hours} hours: EC2 sells at most {DAYS_MAX} days", _steps())
    days = max(1, int((hours / _HOURS_A_DAY).to_integral_value(ROUND_CEILING)))
    if days > DAYS_IN_STEPS_OF_ONE_MAX:
        days = -(-days // _DAYS_A_WEEK) * _DAYS_A_WEEK
    sold = days * _HOURS_A_DAY
    note = "" if sold == hours else f"{hours} hours become {sold} ({days} days): {_steps()}"
    return sold, note


def _steps() -> str:
    return f"EC2 sells 1 to {DAYS_IN_STEPS_OF_ONE_MAX} days, then whole weeks to {DAYS_MAX} days"
