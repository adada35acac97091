"""Models and heads under control: admitted, revoked, verified, compared, and put back."""
