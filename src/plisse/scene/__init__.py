"""What the user asked for: frozen, plain, validated data."""
