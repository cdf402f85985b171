/* The calls of crates/nowcast/examples/call_costs.rs in C, for the comparison by `cargo xtask costs`: `costs MODE ROUNDS`. */
#include <nowcast.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTS = 20, VALUE = 80 };

static char name[64];

static void check(nowcast_status status) {
    if (status != NOWCAST_STATUS_OK) {
        char text[256];
        nowcast_last_error(text, sizeof text);
        fprintf(stderr, "error %d: %s\n", status, text);
        exit(1);
    }
}

static void *connecting(void *channel) {
    check(nowcast_connect(name, 10000, channel));
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    const int is_event = strcmp(arguments[1], "event") == 0, receives = strcmp(arguments[1], "put") != 0;
    const long rounds = strtol(arguments[2], NULL, 10) / PARTS;
    uint64_t service, left, right;
    pthread_t thread;
    snprintf(name, sizeof name, "c-costs-%d", (int)getpid());
    check(nowcast_advertise(name, &service));
    if (pthread_create(&thread, NULL, connecting, &right) != 0) return 1;
    check(nowcast_service_accept(service, 10000, &left));
    pthread_join(thread, NULL);

    uint8_t value[VALUE], bytes[VALUE];
    memset(value, 7, sizeof value);
    nowcast_message message;
    int64_t best = INT64_MAX;
    for (int part = 0; part < PARTS; part++) {
        const int64_t start = nowcast_now_ns();
        for (long round = 0; round < rounds; round++) {
            check(is_event ? nowcast_event(left, 0, value, sizeof value, -1)
                           : nowcast_state(left, 0, 1, value, sizeof value, -1));
            if (!receives) continue;
            check(nowcast_receive(right, bytes, sizeof bytes, 0, &message));
            if (message.length != VALUE) return 1;
        }
        const int64_t passed = nowcast_now_ns() - start;
        if (passed < best) best = passed;
    }
    printf("%.1f\n", (double)best / (double)rounds);
    check(nowcast_free(left));
    check(nowcast_free(right));
    return 0;
}
