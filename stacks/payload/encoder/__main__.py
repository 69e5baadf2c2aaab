"""`python3 encoder.pyz --model DIRECTORY …`: serves an encoder over HTTP until SIGTERM."""

from encoder.server import main

raise SystemExit(main())
