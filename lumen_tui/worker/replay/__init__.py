"""The recorded calls of a task, judged again by the tool gate and made again in a shadow of its folders."""
