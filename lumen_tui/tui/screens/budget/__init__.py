"""The budget: the page of today, who spent, the forms that raise it and that kill, budgets as typed text."""
