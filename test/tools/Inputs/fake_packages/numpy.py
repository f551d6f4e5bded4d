def load(path):
    return path


def asarray(value, order):
    return value
