"""What was learnt: observations, versions and rejections."""
