// Nowcast for C++20: handles that free themselves, spans, and results. A thin layer on nowcast.h, whose rules apply.
//
// Results are std::expected where the standard library has it (C++23), and otherwise nowcast::result with the same members
// has_value, value, error, operator*, operator-> and value_or. No function of this header throws, except value() of a failed
// nowcast::result, std::bad_alloc, and std::expected's own value().
#ifndef NOWCAST_HPP
#define NOWCAST_HPP

#include <nowcast.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#include <version>
#if defined(__cpp_lib_expected)
#include <expected>
#endif

namespace nowcast {

/// A status with its text.
struct error {
    nowcast_status status = NOWCAST_STATUS_OK;
    std::string text;
};

#if defined(__cpp_lib_expected)
template <class T>
using result = std::expected<T, error>;
using unexpected = std::unexpected<error>;
#else
struct unexpected {
    error failure;
    explicit unexpected(error why) : failure(std::move(why)) {}
};

/// A value, or an error.
template <class T>
class result {
    using stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

  public:
    result()
        requires std::is_void_v<T>
        : content_(std::in_place_index<0>) {}
    template <class U = stored>
        requires(!std::is_void_v<T> && std::is_constructible_v<stored, U &&> &&
                 !std::is_same_v<std::remove_cvref_t<U>, result> && !std::is_same_v<std::remove_cvref_t<U>, unexpected>)
    result(U &&value) : content_(std::in_place_index<0>, std::forward<U>(value)) {}
    result(unexpected why) : content_(std::in_place_index<1>, std::move(why.failure)) {}

    bool has_value() const noexcept { return content_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }
    const nowcast::error &error() const { return std::get<1>(content_); }
    stored &operator*() & { return std::get<0>(content_); }
    stored &&operator*() && { return std::move(std::get<0>(content_)); }
    stored *operator->() { return &std::get<0>(content_); }
    stored &value() & {
        if (!has_value()) throw std::runtime_error(error().text);
        return **this;
    }
    stored &&value() && {
        if (!has_value()) throw std::runtime_error(error().text);
        return std::move(**this);
    }
    stored value_or(stored other) const { return has_value() ? std::get<0>(content_) : std::move(other); }

  private:
    std::variant<stored, nowcast::error> content_;
};
#endif

/// Waits without a limit.
inline constexpr std::chrono::milliseconds forever{-1};
/// Does not wait.
inline constexpr std::chrono::milliseconds at_once{0};

using bytes = std::span<const std::uint8_t>;

inline bytes as_bytes(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t *>(text.data()), text.size()};
}

namespace detail {

inline unexpected failure(nowcast_status status) {
    char text[512] = {};
    nowcast_last_error(text, sizeof text);
    return unexpected(error{status, text});
}

inline result<void> done(nowcast_status status) {
    if (status != NOWCAST_STATUS_OK) return failure(status);
    return {};
}

/// Calls a function that copies text, with a growing buffer.
template <class Call>
result<std::string> text(Call call) {
    std::string out(256, '\0');
    for (;;) {
        std::size_t length = 0;
        const nowcast_status status = call(out.data(), out.size(), &length);
        if (status == NOWCAST_STATUS_OK) {
            out.resize(length);
            return out;
        }
        if (status != NOWCAST_STATUS_BUFFER_TOO_SMALL) return failure(status);
        out.resize(length + 1);
    }
}

template <class Call>
result<std::vector<std::uint32_t>> ids(Call call) {
    std::vector<std::uint32_t> out(256);
    for (;;) {
        std::size_t length = 0;
        const nowcast_status status = call(out.data(), out.size(), &length);
        if (status == NOWCAST_STATUS_OK) {
            out.resize(length);
            return out;
        }
        if (status != NOWCAST_STATUS_BUFFER_TOO_SMALL) return failure(status);
        out.resize(length);
    }
}

/// Owns a handle.
class handle {
  public:
    handle() = default;
    explicit handle(std::uint64_t raw) : raw_(raw) {}
    handle(handle &&other) noexcept : raw_(std::exchange(other.raw_, 0)) {}
    handle &operator=(handle &&other) noexcept {
        if (this != &other) {
            reset();
            raw_ = std::exchange(other.raw_, 0);
        }
        return *this;
    }
    ~handle() { reset(); }

    /// The handle for functions of nowcast.h. It remains owned by this object.
    std::uint64_t raw() const noexcept { return raw_; }
    void reset() noexcept {
        if (raw_ != 0) nowcast_free(std::exchange(raw_, 0));
    }

  private:
    std::uint64_t raw_ = 0;
};

template <class T, class Call>
result<T> opened(Call call) {
    std::uint64_t raw = 0;
    const nowcast_status status = call(&raw);
    if (status != NOWCAST_STATUS_OK) return failure(status);
    return T(handle(raw));
}

} // namespace detail

/// A received message. The span is valid until the buffer is used again.
struct message : nowcast_message {
    nowcast::bytes bytes;

    std::string_view text() const { return {reinterpret_cast<const char *>(bytes.data()), bytes.size()}; }
    std::chrono::nanoseconds age() const { return std::chrono::nanoseconds(nowcast_now_ns() - produced_ns); }
};

/// A two-way connection to another program.
class channel {
  public:
    channel() = default;
    explicit channel(detail::handle handle) : handle_(std::move(handle)) {}

    /// Connects to `name` on this machine, or to `nowcast://HOST:PORT/NAME`.
    static result<channel> connect(const std::string &address, std::chrono::milliseconds timeout) {
        return detail::opened<channel>(
            [&](std::uint64_t *out) { return nowcast_connect(address.c_str(), timeout.count(), out); });
    }

    std::uint64_t raw() const noexcept { return handle_.raw(); }

    result<void> state(std::uint64_t key, bytes value, std::uint8_t lane = 0,
                       std::chrono::milliseconds timeout = forever) {
        return detail::done(nowcast_state(raw(), lane, key, value.data(), value.size(), timeout.count()));
    }
    result<void> event(bytes value, std::uint8_t lane = 0, std::chrono::milliseconds timeout = forever) {
        return detail::done(nowcast_event(raw(), lane, value.data(), value.size(), timeout.count()));
    }
    /// Sends a command, and receives the reply into `buffer`. Returns the part of the buffer that the reply fills.
    result<std::span<std::uint8_t>> command(bytes value, std::span<std::uint8_t> buffer,
                                            std::chrono::milliseconds timeout, std::uint8_t lane = 0) {
        std::size_t length = 0;
        const nowcast_status status = nowcast_command(raw(), lane, value.data(), value.size(), timeout.count(),
                                                      buffer.data(), buffer.size(), &length);
        if (status != NOWCAST_STATUS_OK) return detail::failure(status);
        return buffer.first(length);
    }
    result<void> reply(const message &command, bytes value, std::chrono::milliseconds timeout = forever) {
        return detail::done(
            nowcast_reply(raw(), command.lane, command.key, value.data(), value.size(), timeout.count()));
    }
    /// Receives into a buffer of fixed size.
    result<message> receive(std::span<std::uint8_t> buffer, std::chrono::milliseconds timeout = forever) {
        message received{};
        const nowcast_status status =
            nowcast_receive(raw(), buffer.data(), buffer.size(), timeout.count(), &received);
        if (status != NOWCAST_STATUS_OK) return detail::failure(status);
        received.bytes = buffer.first(received.length);
        return received;
    }
    /// Receives into a vector, which grows if the message does not fit.
    result<message> receive(std::vector<std::uint8_t> &buffer, std::chrono::milliseconds timeout = forever) {
        for (;;) {
            message received{};
            const nowcast_status status =
                nowcast_receive(raw(), buffer.data(), buffer.size(), timeout.count(), &received);
            if (status == NOWCAST_STATUS_OK) {
                received.bytes = bytes(buffer).first(received.length);
                return received;
            }
            if (status != NOWCAST_STATUS_BUFFER_TOO_SMALL) return detail::failure(status);
            buffer.resize(received.length);
        }
    }
    /// A descriptor that is readable while messages wait. It belongs to the channel.
    result<int> descriptor() const {
        std::int32_t out = -1;
        const nowcast_status status = nowcast_channel_descriptor(raw(), &out);
        if (status != NOWCAST_STATUS_OK) return detail::failure(status);
        return int{out};
    }
    result<nowcast_channel_info> status() const {
        nowcast_channel_info out{};
        const nowcast_status status = nowcast_channel_status(raw(), &out);
        if (status != NOWCAST_STATUS_OK) return detail::failure(status);
        return out;
    }
    result<void> drained(std::chrono::milliseconds timeout = forever) {
        return detail::done(nowcast_drained(raw(), timeout.count()));
    }
    result<void> close(std::uint32_t code = 0, const std::string &reason = {}) {
        return detail::done(nowcast_channel_close(raw(), code, reason.c_str()));
    }

  private:
    detail::handle handle_;
};

/// An advertised name.
class service {
  public:
    explicit service(detail::handle handle) : handle_(std::move(handle)) {}

    /// Advertises a name to the programs of this user on this machine.
    static result<service> advertise(const std::string &name) {
        return detail::opened<service>([&](std::uint64_t *out) { return nowcast_advertise(name.c_str(), out); });
    }
    result<channel> accept(std::chrono::milliseconds timeout = forever) {
        return detail::opened<channel>(
            [&](std::uint64_t *out) { return nowcast_service_accept(handle_.raw(), timeout.count(), out); });
    }

  private:
    detail::handle handle_;
};

/// Puts messages for all subscribers of a name.
class publisher {
  public:
    explicit publisher(detail::handle handle) : handle_(std::move(handle)) {}

    result<void> state(std::uint64_t key, bytes value) {
        return detail::done(nowcast_publisher_state(handle_.raw(), key, value.data(), value.size()));
    }
    result<void> event(bytes value) {
        return detail::done(nowcast_publisher_event(handle_.raw(), value.data(), value.size()));
    }
    result<std::size_t> subscribers() const {
        std::size_t out = 0;
        const nowcast_status status = nowcast_publisher_subscribers(handle_.raw(), &out);
        if (status != NOWCAST_STATUS_OK) return detail::failure(status);
        return out;
    }

  private:
    detail::handle handle_;
};

/// An endpoint for other machines and browsers.
class listener {
  public:
    explicit listener(detail::handle handle) : handle_(std::move(handle)) {}

    /// Listens on this machine only. Port 0 lets the system choose.
    static result<listener> loopback(std::uint16_t port = 0) {
        return detail::opened<listener>(
            [&](std::uint64_t *out) { return nowcast_listen(nullptr, port, false, out); });
    }
    result<std::uint16_t> port() const {
        std::uint16_t out = 0;
        const nowcast_status status = nowcast_listener_port(handle_.raw(), &out);
        if (status != NOWCAST_STATUS_OK) return detail::failure(status);
        return out;
    }
    result<service> advertise(const std::string &name) {
        return detail::opened<service>([&](std::uint64_t *out) {
            return nowcast_listener_advertise(handle_.raw(), name.c_str(), out);
        });
    }
    result<publisher> publish(const std::string &name) {
        return detail::opened<publisher>([&](std::uint64_t *out) {
            return nowcast_listener_publish(handle_.raw(), name.c_str(), out);
        });
    }

  private:
    detail::handle handle_;
};

/// A client of a world.
class world {
  public:
    explicit world(detail::handle handle) : handle_(std::move(handle)) {}

    /// Joins the world at the other end of the channel. `flags` is a sum of NOWCAST_JOIN_….
    static result<world> join(const channel &channel, const std::string &name, std::uint32_t flags = 0,
                              const std::array<std::uint8_t, 16> *key = nullptr) {
        return detail::opened<world>([&](std::uint64_t *out) {
            return nowcast_world_join(channel.raw(), name.c_str(), flags, key ? key->data() : nullptr, out);
        });
    }
    std::uint64_t raw() const noexcept { return handle_.raw(); }

    /// Handles the next message of the server. Empty if there is none within the timeout.
    result<std::optional<nowcast_update>> update(std::chrono::milliseconds timeout = at_once) {
        nowcast_update out{};
        const nowcast_status status = nowcast_world_update(raw(), timeout.count(), &out);
        if (status == NOWCAST_STATUS_TIMED_OUT) return std::optional<nowcast_update>();
        if (status != NOWCAST_STATUS_OK) return detail::failure(status);
        return std::optional(out);
    }
    result<std::string> update_json() const {
        return detail::text([&](auto... out) { return nowcast_world_update_json(raw(), out...); });
    }
    result<nowcast_world_state> info() const {
        nowcast_world_state out{};
        const nowcast_status status = nowcast_world_info(raw(), &out);
        if (status != NOWCAST_STATUS_OK) return detail::failure(status);
        return out;
    }
    result<std::vector<std::uint32_t>> entities() const {
        return detail::ids([&](auto... out) { return nowcast_world_entities(raw(), out...); });
    }
    result<std::vector<std::uint32_t>> players() const {
        return detail::ids([&](auto... out) { return nowcast_world_players(raw(), out...); });
    }
    result<std::string> player_name(std::uint32_t player) const {
        return detail::text([&](auto... out) { return nowcast_world_player_name(raw(), player, out...); });
    }
    result<nowcast_entity> entity(std::uint32_t id) const {
        nowcast_entity out{};
        const nowcast_status status = nowcast_world_entity(raw(), id, &out);
        if (status != NOWCAST_STATUS_OK) return detail::failure(status);
        return out;
    }
    result<std::string> attributes(std::uint32_t id) const {
        return detail::text([&](auto... out) { return nowcast_world_attributes(raw(), id, out...); });
    }
    result<std::string> kind_name(std::uint32_t kind) const {
        return detail::text([&](auto... out) { return nowcast_world_kind_name(raw(), kind, out...); });
    }
    result<std::string> screen(std::uint32_t number) const {
        return detail::text([&](auto... out) { return nowcast_world_screen(raw(), number, out...); });
    }
    result<void> input(const nowcast_input &input) { return detail::done(nowcast_world_input(raw(), &input)); }
    /// Takes the predicted steps that are due. Only for clients that joined with NOWCAST_JOIN_PREDICT.
    result<nowcast_predicted> advance() {
        nowcast_predicted out{};
        const nowcast_status status = nowcast_world_advance(raw(), &out);
        if (status != NOWCAST_STATUS_OK) return detail::failure(status);
        return out;
    }
    result<void> act(const std::string &action, const std::string &json = "null", std::uint32_t number = 0) {
        return detail::done(nowcast_world_act(raw(), action.c_str(), json.c_str(), number));
    }
    result<void> say(const std::string &line) { return detail::done(nowcast_world_say(raw(), line.c_str())); }

  private:
    detail::handle handle_;
};

/// A save file.
class save {
  public:
    explicit save(detail::handle handle) : handle_(std::move(handle)) {}

    static result<save> open(const std::string &path) {
        return detail::opened<save>([&](std::uint64_t *out) { return nowcast_save_open(path.c_str(), out); });
    }
    /// Reads the next chunk, and returns the number of its rows. Empty after the last chunk.
    result<std::optional<std::size_t>> next() {
        std::size_t rows = 0;
        const nowcast_status status = nowcast_save_next(handle_.raw(), &rows);
        if (status == NOWCAST_STATUS_CLOSED) return std::optional<std::size_t>();
        if (status != NOWCAST_STATUS_OK) return detail::failure(status);
        return std::optional(rows);
    }
    result<std::string> shape() const {
        return detail::text([&](auto... out) { return nowcast_save_shape(handle_.raw(), out...); });
    }
    result<std::string> row(std::size_t index) const {
        return detail::text([&](auto... out) { return nowcast_save_row(handle_.raw(), index, out...); });
    }
    result<std::string> about() const {
        return detail::text([&](auto... out) { return nowcast_save_about(handle_.raw(), out...); });
    }

  private:
    detail::handle handle_;
};

} // namespace nowcast

#endif
