"""Constructs follow the CDK's guide: scope, id, then flat properties by name."""

import importlib
import inspect
import pkgutil

import pytest
from constructs import Construct

import stacks.constructs

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("cdk")]
MODULES = sorted(module.name for module in pkgutil.iter_modules(stacks.constructs.__path__))


@pytest.mark.parametrize("name", MODULES)
def test_initialisers(name: str) -> None:
    module = importlib.import_module(f"stacks.constructs.{name}")
    for thing in vars(module).values():
        if inspect.isclass(thing) and issubclass(thing, Construct) and thing.__module__ == module.__name__:
            _, scope, id_, *properties = inspect.signature(thing.__init__).parameters.values()
            assert (scope.name, id_.name) == ("scope", "id_")
            assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in properties)
            assert thing.__doc__ or module.__doc__
