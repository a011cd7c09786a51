"""Programs that use the model to edit a workspace."""
