"""What in the data of a campaign makes its splits worse: tests, and what they mean in plain words."""
