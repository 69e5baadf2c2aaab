import pytest

from tests import synthesized


@pytest.fixture
def template(plan: str, stack: str) -> synthesized.Template:
    """Of the plan and the stack that the test is parametrised with."""
    return synthesized.template(plan, stack)
