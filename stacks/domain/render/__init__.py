"""Plan to text: every file that the kit writes is a template under `templates/` filled from one frozen context."""
