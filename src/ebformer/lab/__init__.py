"""The laboratory: what trains, measures and explains the methods. Nothing downstairs imports it."""
