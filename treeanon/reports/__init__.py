"""Results as plain text for people, and as plain data for JSON."""

from treeanon.reports.text import flat_losses_text, losses_data, losses_text, permuted_losses_text, rpda_line

__all__ = ["flat_losses_text", "losses_data", "losses_text", "permuted_losses_text", "rpda_line"]
