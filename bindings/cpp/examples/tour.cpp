// Channels, a publisher and a save file in one process: `tour SAVE-FILE`.
#include <nowcast.hpp>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>

using namespace std::chrono_literals;

template <class T>
T need(nowcast::result<T> got) {
    if (!got) {
        std::fprintf(stderr, "error %d: %s\n", got.error().status, got.error().text.c_str());
        std::exit(1);
    }
    if constexpr (!std::is_void_v<T>) return std::move(*got);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    const std::string name = "cpp-tour-" + std::to_string(getpid());

    auto service = need(nowcast::service::advertise(name));
    std::thread doubler([&] {
        auto channel = need(nowcast::channel::connect(name, 5s));
        std::vector<std::uint8_t> buffer;
        while (auto message = channel.receive(buffer)) {
            if (message->kind != NOWCAST_MESSAGE_TYPE_COMMAND) continue;
            const std::string twice = std::string(message->text()) + std::string(message->text());
            need(channel.reply(*message, nowcast::as_bytes(twice)));
        }
    });
    {
        auto channel = need(service.accept(5s));
        std::array<std::uint8_t, 64> buffer;
        auto reply = need(channel.command(nowcast::as_bytes("ha"), buffer, 5s));
        std::printf("reply: %.*s\n", static_cast<int>(reply.size()), reinterpret_cast<const char *>(reply.data()));
    } // closes the channel, which ends the loop of the other thread
    doubler.join();

    auto listener = need(nowcast::listener::loopback());
    auto publisher = need(listener.publish("tracker"));
    need(publisher.state(1, nowcast::as_bytes("looks up")));
    auto subscriber = need(
        nowcast::channel::connect("nowcast://127.0.0.1:" + std::to_string(need(listener.port())) + "/tracker", 5s));
    std::vector<std::uint8_t> buffer;
    auto message = need(subscriber.receive(buffer, 5s));
    std::printf("published: %.*s\n", static_cast<int>(message.text().size()), message.text().data());

    auto save = need(nowcast::save::open(arguments[1]));
    while (auto rows = need(save.next())) {
        std::printf("%zu rows of %s\n", *rows, need(save.shape()).c_str());
        for (std::size_t row = 0; row < *rows; row++) std::printf("%s\n", need(save.row(row)).c_str());
    }

    auto wrong = nowcast::channel::connect("no-such-name-anywhere", nowcast::at_once);
    std::printf("an error: %s\n", wrong ? "none" : wrong.error().text.c_str());
    return wrong ? 1 : 0;
}
