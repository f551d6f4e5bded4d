def load(path):
    return path


def ascontiguousarray(value):
    return value
