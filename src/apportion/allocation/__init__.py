"""Ask and tell in memory: a policy meets arms, bounds, units and tickets. Keeps nothing on disk."""
