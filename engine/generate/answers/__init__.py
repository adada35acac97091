"""How one answer is made: written token by token, or its choices scored."""
