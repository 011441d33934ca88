#include "transport/zmq_context.h"

#include <zmq.hpp>

#include "core/check.h"
#include "transport/security/curve.h"
#include "transport/security/trust.h"

namespace steelyard {

ZmqContext::ZmqContext(int io_threads) : ZmqContext(io_threads, nullptr) {}

ZmqContext::ZmqContext(int io_threads, std::unique_ptr<Trust> trust) : trust_(std::move(trust)) {
  auto context = std::make_unique<zmq::context_t>(io_threads);
  // Otherwise frames of a few KB may begin at any address, but floats must be aligned.
  constexpr int zero_copy_receive =
      10;  // ZMQ_ZERO_COPY_RECV, which the packaged header hides among its drafts
  CHECK(zmq_ctx_set(context->handle(), zero_copy_receive, 0) == 0, "libzmq is too old");
  // The maximum number of sockets; the default of 1,023 allows 341 connections.
  zmq_ctx_set(context->handle(), ZMQ_MAX_SOCKETS, zmq_ctx_get(context->handle(), ZMQ_SOCKET_LIMIT));
  if (trust_) {
    handler_ = std::make_unique<ZapHandler>(*context, *trust_);
    require_strangers_refused(*context, trust_->own());
  }
  context_ = context.release();
}

ZmqContext::~ZmqContext() {
  handler_.reset();
  delete static_cast<zmq::context_t*>(context_);
}

}  // namespace steelyard
