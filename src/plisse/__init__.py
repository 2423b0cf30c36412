"""Plissé: cloth and shells with guaranteed intersection-free frictional contact."""
