"""What every kind of contact can say of a state."""

from __future__ import annotations

from abc import abstractmethod

from plisse.contact.friction import Contacts
from plisse.core.arrays import Floats
from plisse.core.potential import Potential


class ContactPotential(Potential):
    """A barrier between surfaces."""

    kind = "contact"

    @abstractmethod
    def contacts(self, x: Floats) -> Contacts:
        """Active contacts at x, for lagged friction."""

    @abstractmethod
    def count(self, x: Floats) -> int:
        """Number of active contacts."""

    @abstractmethod
    def clearance(self, x: Floats) -> float:
        """Smallest distance over the offset; above 1 in every admissible state."""
