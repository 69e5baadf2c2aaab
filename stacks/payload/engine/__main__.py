"""`python3 engine.pyz model|load|compile …`: what an engine's container does before the engine."""

from engine.words import main

raise SystemExit(main())
