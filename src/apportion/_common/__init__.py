"""What every part uses and no part owns: validation, parsing, formatting, optional packages, compiling. No model."""
