"""AlexNet, VGG-16, residual networks, and the small models of the SoyBean and HTF-MPR papers."""

from __future__ import annotations

import numpy

from .layers import Layers
from .writer import ModelWriter, Value, static

RESNET_BLOCKS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
VGG16_STAGES = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))


def alexnet(writer: ModelWriter, size: int, classes: int) -> None:
    """The single-column variant (Krizhevsky, "One weird trick", 2014): no groups, no response normalization."""
    layers = Layers(writer)
    x = layers.image(size)
    stages = ((64, 11, 4, 2, True), (192, 5, 1, 2, True), (384, 3, 1, 1, False), (256, 3, 1, 1, False),
              (256, 3, 1, 1, True))
    for index, (filters, kernel, stride, padding, pool) in enumerate(stages, 1):
        x = layers.conv_unit(x, filters, kernel, stride, padding, name=f"conv{index}")
        if pool:
            x = layers.max_pool(x, 3, 2)
    x = layers.flatten(x)
    for index in (6, 7):
        x = layers.relu(layers.linear(layers.dropout(x, 0.5), 4096, name=f"linear{index}"))
    layers.logits(x, classes)


def vgg16(writer: ModelWriter, size: int, classes: int, batch_norm: bool) -> None:
    """Configuration D of Simonyan and Zisserman (2015)."""
    layers = Layers(writer, batch_norm)
    x = layers.image(size)
    for stage, (filters, count) in enumerate(VGG16_STAGES, 1):
        for index in range(1, count + 1):
            x = layers.conv_unit(x, filters, 3, 1, 1, name=f"conv{stage}_{index}")
        x = layers.max_pool(x, 2, 2)
    x = layers.flatten(x)
    for index in (6, 7):
        x = layers.dropout(layers.relu(layers.linear(x, 4096, name=f"linear{index}")), 0.5)
    layers.logits(x, classes)


def resnet(writer: ModelWriter, depth: int, wide: int, size: int, classes: int, batch_norm: bool) -> None:
    """He et al. (2016), bottleneck blocks, the stride on the 3x3 convolution; all channels times `wide`.

    The wide form multiplies every convolution, as SwapAdvisor does ("the channel size of convolution operators are
    multiplied"), not the inner ones alone.
    """
    layers = Layers(writer, batch_norm)
    x = layers.conv_unit(layers.image(size), 64 * wide, 7, 2, 3, name="conv1")
    x = layers.max_pool(x, 3, 2, 1)
    for stage, blocks in enumerate(RESNET_BLOCKS[depth]):
        for index in range(blocks):
            with writer.scope(f"stage{stage + 1}.{index}"):
                x = _bottleneck(layers, x, 64 * 2**stage * wide, 2 if stage > 0 and index == 0 else 1, index == 0)
    layers.logits(layers.global_pool(x), classes)


def _bottleneck(layers: Layers, x: Value, inner: int, stride: int, project: bool) -> Value:
    y = layers.conv_unit(x, inner, 1, bias=False, name="conv1")
    y = layers.conv_unit(y, inner, 3, stride, 1, bias=False, name="conv2")
    y = layers.conv_unit(y, 4 * inner, 1, relu=False, bias=False, name="conv3")
    if project:
        x = layers.conv_unit(x, 4 * inner, 1, stride, relu=False, bias=False, name="shortcut")
    return layers.relu(layers.add(y, x))


def mlp(writer: ModelWriter, count: int, hidden: int) -> None:
    """SoyBean, section 6.2: `count` square layers without bias, ReLU between them; the last one writes the logits."""
    layers = Layers(writer)
    x = writer.input("x", (writer.batch, hidden))
    for index in range(1, count):
        x = layers.relu(layers.linear(x, hidden, bias=False, name=f"linear{index}"))
    writer.output(layers.linear(x, hidden, bias=False, name=f"linear{count}", gain=1.0), "logits")


def cnn(writer: ModelWriter, count: int, filters: int, size: int, classes: int) -> None:
    """SoyBean, figure 9: `count` 3x3 convolutions that keep the image's size; averaged, then a classifier.

    The paper gives image size and filters; that images have as many channels as the filters (one tiling problem, layer
    after layer) is this builder's reading.
    """
    layers = Layers(writer)
    x = layers.image(size, filters)
    for index in range(1, count + 1):
        x = layers.conv_unit(x, filters, 3, 1, 1, bias=False, name=f"conv{index}")
    layers.logits(layers.global_pool(x), classes)


def mnist_softmax(writer: ModelWriter, rate: float) -> None:
    """A step of softmax regression as ten operators: the instance that HTF-MPR enumerates (3^10 mappings).

    The paper's ten are TensorFlow's (placeholders and variables among them); these ten compute the same step: logits,
    probabilities, cross-entropy and the two updated parameters. `target` is one-hot.
    """
    batch = static(writer.batch)
    layers = Layers(writer)
    image = writer.input("image", (batch, 784))
    target = writer.input("target", (batch, 10))
    weight = writer.parameter("weight", (784, 10))
    bias = writer.parameter("bias", (1, 10))
    ones = writer.constant("ones", numpy.ones((1, batch)))
    product = writer.node("MatMul", [image, weight], (batch, 10))
    logits = layers.add(product, bias)
    likelihood = layers.binary("Mul", writer.node("LogSoftmax", [logits], (batch, 10), axis=1), target)
    total = writer.node("ReduceSum", [likelihood], (), keepdims=0)
    writer.output(layers.binary("Mul", total, writer.constant("scale", -1.0 / batch)), "loss")
    error = layers.binary("Sub", writer.node("Softmax", [logits], (batch, 10), axis=1), target)
    writer.output(writer.node("Gemm", [image, error, weight], (784, 10), transA=1, alpha=-rate / batch), "new_weight")
    writer.output(writer.node("Gemm", [ones, error, bias], (1, 10), alpha=-rate / batch), "new_bias")
