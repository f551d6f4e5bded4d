//===- TrainingTest.cpp - What --train and --optimizer say ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Compiler/TrainingOptions.h"

#include <catch2/catch.hpp>

using namespace sluice;

static std::string errorOf(std::string_view train, std::string_view optimizer = "") {
  Expected<TrainingOptions> options = parseTraining(train, optimizer);
  return options ? "" : options.error().message;
}

TEST_CASE("training has the frameworks' defaults", "[training]") {
  TrainingOptions options = parseTraining("", "").value();
  CHECK(options.loss == "softmax-cross-entropy");
  CHECK(options.output.empty());
  CHECK(options.classAxis == -1);
  CHECK(options.accumulate == 1);
  CHECK_FALSE(options.ignoreIndex);
  CHECK(options.optimizer == "sgd");
  CHECK(options.learningRate == 0.01);
  CHECK(options.weightDecay == 0);
  TrainingOptions adam = parseTraining("loss=mse", "adam").value();
  CHECK(adam.loss == "mse");
  CHECK(adam.optimizer == "adam");
  CHECK(adam.beta1 == 0.9);
  CHECK(adam.beta2 == 0.999);
  CHECK(adam.epsilon == 1e-8);
}

TEST_CASE("every option of a training step is read", "[training]") {
  TrainingOptions options = parseTraining("accumulate=4,loss=softmax-cross-entropy,axis=1,of=logits",
                                          "adamw,lr=1e-3,beta1=0.8,beta2=0,epsilon=0.5,weight-decay=0.25")
                                .value();
  CHECK(options.output == "logits");
  CHECK(options.classAxis == 1);
  CHECK(options.accumulate == 4);
  CHECK(options.optimizer == "adamw");
  CHECK(options.learningRate == 1e-3);
  CHECK(options.beta1 == 0.8);
  CHECK(options.beta2 == 0);
  CHECK(options.epsilon == 0.5);
  CHECK(options.weightDecay == 0.25);
  CHECK(parseTraining("ignore-index=-100", "").value().ignoreIndex == -100);
  CHECK(errorOf("ignore-index=x") == "'x' is out of range, option '--train ignore-index', give an integer");
  CHECK(errorOf("loss=mse,ignore-index=0") ==
        "loss 'mse' has no labels to ignore, option '--train ignore-index', leave this option out");
  options = parseTraining("loss=mse", "momentum,momentum=0.5,nesterov=true").value();
  CHECK(options.momentum == 0.5);
  CHECK(options.nesterov);
  CHECK_FALSE(parseTraining("", "momentum,nesterov=false").value().nesterov);
  // A name may hold a colon and an equals sign.
  options = parseTraining("loss=output:model:cost=1", "").value();
  CHECK(options.loss == "output");
  CHECK(options.output == "model:cost=1");
  CHECK(parseTraining("accumulate=ranks", "").value().accumulate == kAccumulateRanks);
  CHECK(
      errorOf("accumulate=rank") ==
      "'rank' is neither a number of steps nor 'ranks', option '--train accumulate', give a number of steps from 1 to "
      "2^31 - 1, or 'ranks'");
}

TEST_CASE("losses and keys that are unknown are refused", "[training]") {
  for (std::string_view loss : {"loss=", "loss", "loss=hinge", "loss=output", "loss=output:", "loss=MSE"})
    CHECK(errorOf(loss).find("is not a loss, option '--train', use softmax-cross-entropy, mse or output:NAME") !=
          std::string::npos);
  CHECK(errorOf("batch=3") ==
        "key 'batch' is unknown, option '--train', use 'accumulate', 'axis', 'ignore-index', 'loss' or 'of'");
  CHECK(errorOf("loss=mse,") == "");
  CHECK(errorOf("loss=mse,,of=y").find("key '' is unknown") == 0);
  CHECK(errorOf("=").find("key '' is unknown") == 0);
}

TEST_CASE("optimizers and options that another has are refused", "[training]") {
  for (std::string_view name : {"rmsprop", "SGD", "lr=0.1", "sgd=1", ",lr=1"})
    CHECK(
        errorOf("", name).find("is not an optimizer, option '--optimizer', use 'sgd', 'momentum', 'adam' or 'adamw'") !=
        std::string::npos);
  CHECK(errorOf("", "sgd,momentum=0.9") ==
        "key 'momentum' is unknown, option '--optimizer sgd', use 'lr' or 'weight-decay'");
  CHECK(errorOf("", "momentum,beta1=0.9") ==
        "key 'beta1' is unknown, option '--optimizer momentum', use 'lr', 'momentum', 'nesterov' or 'weight-decay'");
  CHECK(errorOf("", "adam,nesterov=true").find("option '--optimizer adam', use 'beta1', 'beta2', 'epsilon', 'lr'") !=
        std::string::npos);
}

TEST_CASE("options without an effect are refused", "[training]") {
  CHECK(errorOf("axis=1,loss=mse") ==
        "loss 'mse' has no axis of classes, option '--train axis', leave this option out");
  CHECK(errorOf("loss=output:y,axis=0") ==
        "loss 'output' has no axis of classes, option '--train axis', leave this option out");
  CHECK(errorOf("of=z,loss=output:y") ==
        "both 'z' and 'y' are named as the output of the loss, option '--train of', leave this option out");
}

TEST_CASE("numbers of training that are out of range are refused", "[training]") {
  for (std::string_view value : {"", "x", "0", "-1", "1.5", "2147483648", "99999999999999999999"})
    CHECK(errorOf("accumulate=" + std::string(value)).find("option '--train accumulate', give a number of steps") !=
          std::string::npos);
  for (std::string_view value : {"", "-1", "one"})
    CHECK(errorOf("axis=" + std::string(value)).find("option '--train axis', give an axis from 0") !=
          std::string::npos);
  auto refuses = [](const std::string &optimizer, const std::string &option, const std::string &value) {
    return errorOf("", optimizer + "," + option + "=" + value).find("out of range, option '--optimizer " + option) !=
           std::string::npos;
  };
  for (const char *value : {"", "x", "-0.5", "inf", "nan", "1e999", "0.1x", " 1"}) {
    INFO(value);
    CHECK(refuses("sgd", "lr", value));
    CHECK(refuses("sgd", "weight-decay", value));
    CHECK(refuses("momentum", "momentum", value));
    CHECK(refuses("adam", "beta1", value));
    CHECK(refuses("adam", "beta2", value));
    CHECK(refuses("adam", "epsilon", value));
  }
  for (const char *option : {"beta1", "beta2"})
    CHECK(refuses("adam", option, "1"));
  CHECK(refuses("momentum", "momentum", "1"));
  for (const char *value : {"", "1", "True", "yes"})
    CHECK(refuses("momentum", "nesterov", value));
  CHECK(errorOf("", "sgd,lr=0,weight-decay=0") == "");
}

TEST_CASE("every option of a pipeline is read", "[training]") {
  PipelineOptions options = parsePipeline("stages=4,microbatches=8").value();
  CHECK(options.stages == 4);
  CHECK(options.groups == 4);
  CHECK(options.groupRanks == 1);
  CHECK(options.microbatches == 8);
  CHECK(options.schedule == PipelineKind::OneForward);
  options = parsePipeline("schedule=interleaved,ranks=2,stages=6,microbatches=4").value();
  CHECK(options.stages == 6);
  CHECK(options.groups == 2);
  CHECK(options.schedule == PipelineKind::Interleaved);
  CHECK(parsePipeline("stages=2,microbatches=1,schedule=gpipe").value().schedule == PipelineKind::GPipe);
  options = parsePipeline("stages=2,microbatches=4", 6).value();
  CHECK(options.groups == 2);
  CHECK(options.groupRanks == 3);
  CHECK(options.numRanks() == 6);
  CHECK(parsePipeline("stages=1,microbatches=4", 2).value().groupRanks == 2);
  options = parsePipeline("stages=best,microbatches=4", 4).value();
  CHECK(options.stages == 0);
  CHECK(options.numRanks() == 4);
}

TEST_CASE("pipelines that do not exist are refused", "[training]") {
  auto errorOf = [](std::string_view text, int64_t devices = 1) {
    Expected<PipelineOptions> options = parsePipeline(text, devices);
    return options ? "" : options.error().message;
  };
  CHECK(errorOf("").find("the number of stages is missing, option '--pipeline', give stages=N") == 0);
  CHECK(errorOf("stages=2") == "the number of microbatches is missing, option '--pipeline', give microbatches=N");
  CHECK(errorOf("stages=0,microbatches=2") ==
        "'0' is out of range, option '--pipeline stages', give a number from 1 to 1024, or best");
  CHECK(errorOf("stages=1,microbatches=2").find("one stage on one device is no pipeline, option '--pipeline'") == 0);
  CHECK(errorOf("stages=3,microbatches=2", 4).find("4 devices cannot be divided among 3 groups of ranks") == 0);
  CHECK(errorOf("stages=best,microbatches=2").find("stages cannot be divided over a single device") == 0);
  CHECK(errorOf("stages=best,microbatches=2,ranks=2", 4)
            .find("stages=best chooses the groups of ranks itself, option '--pipeline ranks'") == 0);
  CHECK(errorOf("stages=best,microbatches=2,schedule=interleaved", 4)
            .find("stages=best does not work with schedule=interleaved") == 0);
  CHECK(errorOf("stages=2,microbatches=0") ==
        "'0' is out of range, option '--pipeline microbatches', give a number from 1 to 1024");
  CHECK(errorOf("stages=2,microbatches=2,depth=1") ==
        "key 'depth' is unknown, option '--pipeline', use 'microbatches', 'ranks', 'schedule' or 'stages'");
  CHECK(errorOf("stages=4,ranks=2,microbatches=4")
            .find("option '--pipeline': schedule '1f1b' allows one stage for each of the 2 groups") == 0);
  CHECK(errorOf("stages=4,ranks=3,microbatches=4,schedule=interleaved")
            .find("option '--pipeline': 4 stages cannot be divided") == 0);
  CHECK(errorOf("stages=2,microbatches=4,schedule=zero").find("option '--pipeline': unknown schedule 'zero'") == 0);
}
