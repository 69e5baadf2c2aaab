"""`python3 exporter.pyz`: beside an engine, until SIGTERM."""

from exporter.loop import main

raise SystemExit(main())
