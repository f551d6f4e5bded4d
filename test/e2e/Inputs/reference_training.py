"""Training in plain numpy, double precision: what sluice's is compared with."""

import numpy


class Dense:
    def __init__(self, weight, bias):
        self.names = weight, bias

    def forward(self, p, x, training):
        self.x = x
        return x @ p[self.names[0]] + p[self.names[1]]

    def backward(self, p, g, gradients):
        gradients[self.names[0]], gradients[self.names[1]] = self.x.T @ g, g.sum(0)
        return g @ p[self.names[0]].T


class Relu:
    def forward(self, p, x, training):
        self.positive = x > 0
        return numpy.where(self.positive, x, 0)

    def backward(self, p, g, gradients):
        return numpy.where(self.positive, g, 0)


class Flatten:
    def forward(self, p, x, training):
        self.shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, p, g, gradients):
        return g.reshape(self.shape)


class Conv:
    """3x3, padded by one."""

    def __init__(self, weight, bias=None):
        self.weight, self.bias = weight, bias

    def forward(self, p, x, training):
        padded = numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        self.windows = numpy.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        y = numpy.einsum("nchwij,mcij->nmhw", self.windows, p[self.weight], optimize=True)
        return y + p[self.bias][:, None, None] if self.bias else y

    def backward(self, p, g, gradients):
        gradients[self.weight] = numpy.einsum("nchwij,nmhw->mcij", self.windows, g, optimize=True)
        if self.bias:
            gradients[self.bias] = g.sum((0, 2, 3))
        taps = numpy.einsum("nmhw,mcij->nchwij", g, p[self.weight], optimize=True)
        n, c, h, w = taps.shape[:4]
        padded = numpy.zeros((n, c, h + 2, w + 2))
        for i in range(3):
            for j in range(3):
                padded[:, :, i:i + h, j:j + w] += taps[..., i, j]
        return padded[:, :, 1:-1, 1:-1]


class BatchNorm:
    """As ONNX has it: running statistics keep 0.9 of what they were, and the variance is the batch's own."""

    def __init__(self, scale, bias, mean, variance, epsilon=1e-5, momentum=0.9):
        self.names, self.running = (scale, bias), (mean, variance)
        self.epsilon, self.momentum = epsilon, momentum

    def forward(self, p, x, training):
        statistics = [p[name] for name in self.running]
        if training:
            statistics = x.mean((0, 2, 3)), x.var((0, 2, 3))
            for name, now in zip(self.running, statistics):
                p[name] = self.momentum * p[name] + (1 - self.momentum) * now
        mean, variance = (s[:, None, None] for s in statistics)
        self.inverse = 1 / numpy.sqrt(variance + self.epsilon)
        self.normalized = (x - mean) * self.inverse
        scale, bias = (p[name][:, None, None] for name in self.names)
        return self.normalized * scale + bias

    def backward(self, p, g, gradients):
        gradients[self.names[0]] = (g * self.normalized).sum((0, 2, 3))
        gradients[self.names[1]] = g.sum((0, 2, 3))
        g = g * p[self.names[0]][:, None, None]
        along = (g * self.normalized).mean((0, 2, 3), keepdims=True)
        return self.inverse * (g - g.mean((0, 2, 3), keepdims=True) - self.normalized * along)


class MaxPool:
    """2x2, the first of equals takes all."""

    def forward(self, p, x, training):
        n, c, h, w = self.shape = x.shape
        blocks = x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)
        self.best = blocks.argmax(-1)
        return blocks.max(-1)

    def backward(self, p, g, gradients):
        n, c, h, w = self.shape
        blocks = numpy.where(self.best[..., None] == numpy.arange(4), g[..., None], 0)
        return blocks.reshape(n, c, h // 2, w // 2, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(self.shape)


def forward(layers, p, x, training=False):
    for layer in layers:
        x = layer.forward(p, x, training)
    return x


def cross_entropy(logits, labels):
    """The loss, and its gradient by the logits."""
    shifted = logits - logits.max(1, keepdims=True)
    logs = shifted - numpy.log(numpy.exp(shifted).sum(1, keepdims=True))
    rows = numpy.arange(len(labels))
    gradient = numpy.exp(logs)
    gradient[rows, labels] -= 1
    return -logs[rows, labels].mean(), gradient / len(labels)


class Optimizer:
    """`text` as after --optimizer; Kingma & Ba's Adam, Loshchilov & Hutter's AdamW."""

    def __init__(self, text):
        self.name, *pairs = text.split(",")
        self.options = dict(pair.split("=") for pair in pairs)
        self.memory, self.updates = {}, 0

    def option(self, name, default):
        return float(self.options.get(name, default))

    def apply(self, p, gradients):
        self.updates += 1
        rate, decay = self.option("lr", 0.01), self.option("weight-decay", 0)
        for name, g in gradients.items():
            memory = self.memory.setdefault(name, [0, 0])
            if decay and self.name != "adamw":
                g = g + decay * p[name]
            if self.name == "momentum":
                memory[0] = self.option("momentum", 0.9) * memory[0] + g
                g = g + self.option("momentum", 0.9) * memory[0] if "nesterov" in self.options else memory[0]
            elif self.name.startswith("adam"):
                beta1, beta2 = self.option("beta1", 0.9), self.option("beta2", 0.999)
                memory[0] = beta1 * memory[0] + (1 - beta1) * g
                memory[1] = beta2 * memory[1] + (1 - beta2) * g * g
                deviation = numpy.sqrt(memory[1] / (1 - beta2 ** self.updates))
                g = memory[0] / (1 - beta1 ** self.updates) / (deviation + self.option("epsilon", 1e-8))
                if self.name == "adamw":
                    g = g + decay * p[name]
            p[name] = p[name] - rate * g


def train(layers, parameters, batches, steps, optimizer, accumulate=1):
    """The losses, and the parameters after `steps`."""
    p = {name: value.astype(numpy.float64) for name, value in parameters.items()}
    rule, losses, sums = Optimizer(optimizer), [], {}
    for step in range(steps):
        x, labels = batches[step % len(batches)]
        loss, g = cross_entropy(forward(layers, p, x.astype(numpy.float64), training=True), labels)
        losses.append(loss)
        gradients = {}
        for layer in reversed(layers):
            g = layer.backward(p, g, gradients)
        for name, gradient in gradients.items():
            sums[name] = sums.get(name, 0) + gradient / accumulate
        if (step + 1) % accumulate == 0:
            rule.apply(p, sums)
            sums = {}
    return numpy.array(losses), p


def accuracy(layers, p, x, labels):
    return (forward(layers, p, x.astype(numpy.float64)).argmax(1) == labels).mean()
