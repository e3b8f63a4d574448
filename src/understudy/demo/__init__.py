"""A simulated city, so that the project can be shown and tested without any download."""

from understudy.demo.city import PAYMENTS, City

__all__ = ["PAYMENTS", "City"]
