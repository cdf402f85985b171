/* Two processes on one machine: `ping_pong serve NAME` and `ping_pong ask NAME`. */
#include <nowcast.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(nowcast_status status) {
    if (status != NOWCAST_STATUS_OK) {
        char text[256];
        nowcast_last_error(text, sizeof text);
        fprintf(stderr, "error %d: %s\n", status, text);
        exit(1);
    }
}

/* Answers commands, and sends a state for each, until the other side closes the channel. */
static void serve(const char *name) {
    uint64_t service, channel;
    check(nowcast_advertise(name, &service));
    check(nowcast_service_accept(service, 10000, &channel));
    unsigned char bytes[256];
    nowcast_message message;
    nowcast_status status;
    while ((status = nowcast_receive(channel, bytes, sizeof bytes, -1, &message)) == NOWCAST_STATUS_OK) {
        if (message.kind != NOWCAST_MESSAGE_TYPE_COMMAND) continue;
        check(nowcast_state(channel, 0, 7, bytes, message.length, -1)); /* the newest value of key 7 */
        check(nowcast_reply(channel, message.lane, message.key, bytes, message.length, -1));
    }
    if (status != NOWCAST_STATUS_CLOSED) check(status);
    check(nowcast_free(channel));
    check(nowcast_free(service));
}

static void ask(const char *name) {
    uint64_t channel;
    check(nowcast_connect(name, 10000, &channel));
    int descriptor;
    check(nowcast_channel_descriptor(channel, &descriptor));
    for (int number = 0; number < 5; number++) {
        char question[32], answer[32];
        size_t length;
        snprintf(question, sizeof question, "ping %d", number);
        check(nowcast_command(channel, 0, (const uint8_t *)question, strlen(question), 5000,
                              (uint8_t *)answer, sizeof answer, &length));
        printf("%.*s\n", (int)length, answer);
    }
    struct pollfd waiting = {.fd = descriptor, .events = POLLIN};
    nowcast_message message;
    unsigned char bytes[256];
    nowcast_status status;
    do { /* the descriptor says when to receive; receiving until the timeout of 0 makes it unreadable */
        if (poll(&waiting, 1, 5000) != 1) exit(2);
        status = nowcast_receive(channel, bytes, sizeof bytes, 0, &message);
    } while (status == NOWCAST_STATUS_TIMED_OUT);
    check(status);
    printf("state %llu: %.*s, %lld us old\n", (unsigned long long)message.key, (int)message.length,
           (const char *)bytes, (long long)(nowcast_now_ns() - message.produced_ns) / 1000);
    check(nowcast_drained(channel, 5000));
    check(nowcast_free(channel));
}

int main(int count, char **arguments) {
    if (count != 3 || nowcast_abi_version() != NOWCAST_ABI_VERSION) return 2;
    if (strcmp(arguments[1], "serve") == 0) serve(arguments[2]);
    else ask(arguments[2]);
    return 0;
}
