"""What documents took, folded from the log for forecasts."""
