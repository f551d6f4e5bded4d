//===- Session.cpp - The C API --------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Executor.h"
#include "Generator.h"
#include "LoadedArtifact.h"
#include "sluice/Runtime/sluice.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>

using namespace sluice::runtime;

static_assert(sizeof(sluice_command_time) == 32 && sizeof(sluice_device_time) == 16,
              "arrays whose elements do not say their size: what is added goes into an array of its own");

struct sluice_session {
  std::optional<LoadedArtifact> artifact; ///< Outlives the executor, which calls into it.
  std::unique_ptr<Executor> executor;
};

struct sluice_generator {
  Generator generator;
};

namespace {

thread_local std::string lastError;

/// Nothing may be thrown into a C program.
template <typename Body>
Status caught(const Body &body) {
  try {
    return body();
  } catch (const std::exception &error) {
    return failure("the system gave no more memory or threads: ", error.what(), ", free memory or end other programs");
  }
}

sluice_options readOptions(const sluice_options *given) {
  sluice_options options{};
  if (given)
    std::memcpy(&options, given, std::min(given->size, sizeof options));
  options.size = sizeof options;
  return options;
}

Status start(sluice_session &session, const sluice_model *model, const sluice_grid *const *grids,
             const ParameterSource &parameters, const sluice_options &options) {
  Result<std::unique_ptr<Executor>> executor = Executor::create(model, grids, parameters, options);
  if (!executor)
    return tl::unexpected(executor.error());
  session.executor = std::move(*executor);
  return {};
}

/// Fails where there is no state of that number and size.
Status checkState(const sluice_session &session, uint32_t index, int64_t bytes) {
  const std::vector<sluice_tensor_desc> &states = session.executor->states();
  if (index >= states.size())
    return failure("state ", index, " does not exist, because the model has ", states.size(),
                   states.size() == 1 ? " state" : " states", " and the first has number 0",
                   states.empty() ? "" : ", give a smaller number");
  if (states[index].bytes != bytes)
    return failure("state '", states[index].name, "' has ", states[index].bytes, " bytes and the buffer has ", bytes,
                   ", give a buffer of the size of the state");
  return {};
}

template <typename Body>
sluice_session *opened(const Body &body) {
  std::unique_ptr<sluice_session> session;
  Status status = caught([&] {
    session = std::make_unique<sluice_session>();
    return body(*session);
  });
  if (status)
    return session.release();
  lastError = status.error();
  return nullptr;
}

} // namespace

extern "C" {

sluice_session *sluice_open(const char *directory, const sluice_options *options) {
  return opened([&](sluice_session &session) -> Status {
    if (!directory || !*directory)
      return failure("no directory is given, give a directory that sluice compile wrote");
    sluice_options read = readOptions(options);
    Result<LoadedArtifact> artifact = LoadedArtifact::open(directory, read.verify != 0, read.communicator);
    if (!artifact)
      return tl::unexpected(artifact.error());
    session.artifact.emplace(std::move(*artifact));
    return start(session, session.artifact->model(), session.artifact->grids(),
                 {session.artifact->parameters(), session.artifact->parameterPath()}, read);
  });
}

sluice_session *sluice_open_model(const sluice_model *model, const void *parameters, int64_t parameter_bytes,
                                  const sluice_options *options) {
  return opened([&](sluice_session &session) -> Status {
    if (model && model->size >= kLeastModelBytes &&
        (model->parameter_bytes != parameter_bytes || (parameter_bytes > 0 && !parameters)))
      return failure("model has ", model->parameter_bytes, " bytes of parameters and ", parameter_bytes,
                     " bytes are given, give the parameters of this model");
    return start(session, model, nullptr, {parameters, {}}, readOptions(options));
  });
}

void sluice_close(sluice_session *session) { delete session; }

const sluice_model *sluice_describe(const sluice_session *session) { return session->executor->model(); }

int32_t sluice_run(sluice_session *session, const void *const *inputs, void *const *outputs) {
  Status status = caught([&] { return session->executor->step(inputs, outputs); });
  if (status)
    return 0;
  lastError = status.error();
  return 1;
}

int32_t sluice_set_shapes(sluice_session *session, const int64_t *const *shapes) {
  Status status = caught([&] { return session->executor->setShapes(shapes); });
  if (status)
    return 0;
  lastError = status.error();
  return 1;
}

int32_t sluice_get_shape(const sluice_session *session, uint32_t port, uint32_t index, int64_t *shape, int64_t *bytes) {
  Status status = caught([&] { return session->executor->shapes().get(port, index, shape, bytes); });
  if (status)
    return 0;
  lastError = status.error();
  return 1;
}

int32_t sluice_read_state(const sluice_session *session, uint32_t index, void *data, int64_t bytes) {
  Status status = caught([&]() -> Status {
    if (Status known = checkState(*session, index, bytes); !known)
      return known;
    return session->executor->readState(index, data);
  });
  if (status)
    return 0;
  lastError = status.error();
  return 1;
}

int32_t sluice_write_state(sluice_session *session, uint32_t index, const void *data, int64_t bytes) {
  Status status = caught([&]() -> Status {
    if (Status known = checkState(*session, index, bytes); !known)
      return known;
    return session->executor->writeState(index, data);
  });
  if (status)
    return 0;
  lastError = status.error();
  return 1;
}

int32_t sluice_reset(sluice_session *session) {
  Status status = caught([&] { return session->executor->reset(); });
  if (status)
    return 0;
  lastError = status.error();
  return 1;
}

int32_t sluice_set_length(sluice_session *session, uint32_t symbol, int64_t length) {
  Status status = caught([&] { return session->executor->setLength(symbol, length); });
  if (status)
    return 0;
  lastError = status.error();
  return 1;
}

sluice_generator *sluice_generator_open(sluice_session *session, const void *const *inputs,
                                        const sluice_sampling *sampling) {
  std::unique_ptr<sluice_generator> opened;
  Status status = caught([&]() -> Status {
    Result<Generator> made = Generator::create(*session->executor, inputs, sampling);
    if (!made)
      return tl::unexpected(made.error());
    opened.reset(new sluice_generator{std::move(*made)});
    return {};
  });
  if (status)
    return opened.release();
  lastError = status.error();
  return nullptr;
}

int32_t sluice_generator_feed(sluice_generator *generator, const int64_t *tokens, size_t count) {
  Status status = caught([&] { return generator->generator.feed(tokens, count); });
  if (status)
    return 0;
  lastError = status.error();
  return 1;
}

int32_t sluice_generator_next(sluice_generator *generator, int64_t *token) {
  Status status = caught([&]() -> Status {
    Result<int64_t> next = generator->generator.next();
    if (!next)
      return tl::unexpected(next.error());
    *token = *next;
    return {};
  });
  if (status)
    return 0;
  lastError = status.error();
  return 1;
}

void sluice_generator_close(sluice_generator *generator) { delete generator; }

int32_t sluice_slow_device(sluice_session *session, uint32_t index, double factor) {
  Status status = caught([&] { return session->executor->slowDevice(index, factor); });
  if (status)
    return 0;
  lastError = status.error();
  return 1;
}

void sluice_get_stats(const sluice_session *session, sluice_stats *stats) {
  sluice_stats now{};
  session->executor->stats(now);
  now.size = std::min(stats->size, sizeof now);
  std::memcpy(stats, &now, now.size);
}

void sluice_get_expert_stats(const sluice_session *session, sluice_expert_stats *stats) {
  sluice_expert_stats now{};
  (void)caught([&]() -> Status {
    session->executor->expertStats(now);
    return {};
  });
  now.size = std::min(stats->size, sizeof now);
  std::memcpy(stats, &now, now.size);
}

const sluice_command_time *sluice_trace(const sluice_session *session, size_t *count) {
  const std::vector<sluice_command_time> &times = session->executor->trace();
  *count = times.size();
  return times.data();
}

const sluice_device_time *sluice_device_times(const sluice_session *session, size_t *count) {
  const std::vector<sluice_device_time> &times = session->executor->deviceTrace();
  *count = times.size();
  return times.data();
}

const char *sluice_notes(const sluice_session *session) {
  thread_local std::string notes;
  Status status = caught([&]() -> Status {
    notes = session->executor->notes();
    return {};
  });
  return status ? notes.c_str() : "the system gave no memory for the notes\n";
}

const char *sluice_last_error(void) { return lastError.c_str(); }
}
