"""Programs about the library: the paper, leaderboard, robustness, comparisons, real worlds, scenarios.

Nothing the library needs.

They share `page` (text, tables and pictures as Markdown and HTML), `curves` (the picture that most of them draw) and
`finished` (results in a file, found again where all that they depend on is the same).
"""
