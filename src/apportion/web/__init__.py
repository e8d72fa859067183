"""The service: campaigns over HTTP for programs (`api`) and people (`pages`), and the laboratory in the browser."""
