"""A simulated city and a clinic, so that the project is shown and tested without any download."""

from understudy.demo.city import PAYMENTS, City
from understudy.demo.clinic import Clinic

__all__ = ["PAYMENTS", "City", "Clinic"]
