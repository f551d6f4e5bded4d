"""barrier_model.py DIR: writes data for the classifiers of the tests of sluice run --barrier: six batches of eight rows,
x.npy and labels.npy, of two classes that a line divides."""

import sys

import numpy

random = numpy.random.default_rng(0)
x = random.standard_normal((48, 6)).astype(numpy.float32)
numpy.save(sys.argv[1] + "/x.npy", x)
numpy.save(sys.argv[1] + "/labels.npy", (x.sum(1) > 0).astype(numpy.int64))
numpy.save(sys.argv[1] + "/bad.npy", numpy.full(48, 5, numpy.int64))
