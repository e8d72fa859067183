"""Where campaigns are kept: databases, schema, transactions, tokens. Knows no policy."""
