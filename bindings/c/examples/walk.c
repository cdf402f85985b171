/* Joins a world, walks for two seconds, and prints what it sees: `walk nowcast://127.0.0.1:7777/playground`. */
#include <math.h>
#include <nowcast.h>
#include <stdio.h>
#include <stdlib.h>

static void check(nowcast_status status) {
    if (status != NOWCAST_STATUS_OK) {
        char text[256];
        nowcast_last_error(text, sizeof text);
        fprintf(stderr, "error %d: %s\n", status, text);
        exit(1);
    }
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    uint64_t channel, world;
    check(nowcast_connect(arguments[1], 10000, &channel));
    check(nowcast_world_join(channel, "Ada", NOWCAST_JOIN_PREDICT, NULL, &world));

    nowcast_update update;
    nowcast_predicted avatar = {0};
    float start[3] = {0}, distance = 0;
    int is_walking = 0;
    int64_t begin = nowcast_now_ns(), end = begin + 20000000000;
    while (nowcast_now_ns() < end) {
        nowcast_status status = nowcast_world_update(world, 10, &update);
        while (status == NOWCAST_STATUS_OK) {
            if (update.kind == NOWCAST_UPDATE_KIND_NOTICE || update.kind == NOWCAST_UPDATE_KIND_CHAT) {
                char json[512];
                size_t length;
                if (nowcast_world_update_json(world, json, sizeof json, &length) == NOWCAST_STATUS_OK) puts(json);
            }
            status = nowcast_world_update(world, 0, &update);
        }
        if (status != NOWCAST_STATUS_TIMED_OUT) check(status);
        check(nowcast_world_advance(world, &avatar));
        if (!avatar.is_predicted) continue;
        if (!is_walking) {
            nowcast_input ahead = {.forward = 1, .yaw = 0.5f};
            check(nowcast_world_input(world, &ahead));
            for (int axis = 0; axis < 3; axis++) start[axis] = avatar.position[axis];
            is_walking = 1;
            end = nowcast_now_ns() + 2000000000;
        }
        distance = hypotf(avatar.position[0] - start[0], avatar.position[2] - start[2]);
    }
    nowcast_world_state state;
    check(nowcast_world_info(world, &state));
    printf("player %u walked %.1f m, %llu corrections, %zu entities in sight, %zu players\n", state.player, distance,
           (unsigned long long)avatar.corrections, state.entities, state.players);
    nowcast_entity entity;
    char kind[64], attributes[512];
    size_t length;
    check(nowcast_world_entity(world, state.avatar, &entity));
    check(nowcast_world_kind_name(world, entity.kind, kind, sizeof kind, &length));
    check(nowcast_world_attributes(world, state.avatar, attributes, sizeof attributes, &length));
    printf("avatar %u is a %s at %.1f %.1f %.1f: %s\n", state.avatar, kind, entity.position[0], entity.position[1],
           entity.position[2], attributes);
    check(nowcast_free(world));
    check(nowcast_free(channel));
    return distance > 1 ? 0 : 1;
}
