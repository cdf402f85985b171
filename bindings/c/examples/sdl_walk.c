/* Walks in the playground in a window of SDL 2: `sdl_walk nowcast://127.0.0.1:7777/playground`.
 *
 * W, S, A and D walk, the arrow keys turn, Shift runs, the space bar jumps, and Escape ends the program. With a second argument
 * the program walks by itself for three seconds, writes the picture into that file (BMP), and ends.
 */
#include <SDL.h>
#include <float.h>
#include <math.h>
#include <nowcast.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 800, HEIGHT = 500, KNOWN = 4096, ENTITIES_MAX = 4096 };
static const float NEAR = 0.1f, FOCAL = 0.8f * WIDTH, EYE_HEIGHT = 2.2f, EYE_DISTANCE = 6.0f, TURN = 2.0f;
static const uint32_t SKY = 0xffc4dced;

typedef struct { float x, y, z; } vec;

static vec plus(vec a, vec b) { return (vec){a.x + b.x, a.y + b.y, a.z + b.z}; }
static vec times(vec a, float by) { return (vec){a.x * by, a.y * by, a.z * by}; }
static float dot(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static vec cross(vec a, vec b) {
    return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
static vec minus(vec a, vec b) { return plus(a, times(b, -1)); }

/* Rotates by a unit quaternion x, y, z, w. */
static vec rotated(const float q[4], vec v) {
    const vec axis = {q[0], q[1], q[2]}, t = times(cross(axis, v), 2);
    return plus(plus(v, times(t, q[3])), cross(axis, t));
}

static void check(nowcast_status status) {
    if (status != NOWCAST_STATUS_OK) {
        char text[256];
        nowcast_last_error(text, sizeof text);
        fprintf(stderr, "error %d: %s\n", status, text);
        exit(1);
    }
}

/* The picture: colours and depths, and the camera's place and axes. */
static uint32_t pixels[HEIGHT][WIDTH];
static float depths[HEIGHT][WIDTH];
static vec eye, right, up, ahead;

static uint32_t shaded(uint32_t color, vec normal) {
    const vec sun = {0.45f, 0.8f, 0.4f};
    const float light = 0.55f + 0.45f * fmaxf(0, dot(normal, sun));
    uint32_t out = 0xff000000;
    for (int shift = 0; shift <= 16; shift += 8) {
        out |= (uint32_t)((float)(color >> shift & 0xff) * light) << shift;
    }
    return out;
}

/* Draws a triangle whose corners are in the camera's frame, with z ahead and beyond the near plane. */
static void draw_clipped(const vec *corner, uint32_t color) {
    float x[3], y[3], inverse[3];
    for (int at = 0; at < 3; at++) {
        inverse[at] = 1 / corner[at].z;
        x[at] = WIDTH / 2.0f + FOCAL * corner[at].x * inverse[at];
        y[at] = HEIGHT / 2.0f - FOCAL * corner[at].y * inverse[at];
    }
    const float area = (x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0]);
    if (fabsf(area) < 1e-6f) return;
    const int left = (int)fmaxf(0, fminf(x[0], fminf(x[1], x[2])));
    const int top = (int)fmaxf(0, fminf(y[0], fminf(y[1], y[2])));
    const int last_x = (int)fminf(WIDTH - 1, fmaxf(x[0], fmaxf(x[1], x[2])));
    const int last_y = (int)fminf(HEIGHT - 1, fmaxf(y[0], fmaxf(y[1], y[2])));
    for (int row = top; row <= last_y; row++) {
        for (int column = left; column <= last_x; column++) {
            const float px = (float)column + 0.5f, py = (float)row + 0.5f;
            const float a = ((x[1] - px) * (y[2] - py) - (x[2] - px) * (y[1] - py)) / area;
            const float b = ((x[2] - px) * (y[0] - py) - (x[0] - px) * (y[2] - py)) / area;
            if (a < 0 || b < 0 || a + b > 1) continue;
            const float depth = a * inverse[0] + b * inverse[1] + (1 - a - b) * inverse[2];
            if (depth <= depths[row][column]) continue;
            depths[row][column] = depth;
            pixels[row][column] = color;
        }
    }
}

/* Draws a convex face of up to four corners. The part in front of the near plane is cut off. */
static void draw_face(const vec *corners, int count, uint32_t color) {
    const vec normal = cross(minus(corners[1], corners[0]), minus(corners[2], corners[0]));
    if (dot(normal, minus(eye, corners[0])) <= 0) return; /* seen from behind */
    const uint32_t seen = shaded(color, times(normal, 1 / sqrtf(dot(normal, normal))));
    vec own[4], cut[8];
    int kept = 0;
    for (int at = 0; at < count; at++) {
        const vec from_eye = minus(corners[at], eye);
        own[at] = (vec){dot(from_eye, right), dot(from_eye, up), dot(from_eye, ahead)};
    }
    for (int at = 0; at < count; at++) {
        const vec here = own[at], next = own[(at + 1) % count];
        if (here.z >= NEAR) cut[kept++] = here;
        if ((here.z >= NEAR) != (next.z >= NEAR)) {
            cut[kept++] = plus(here, times(minus(next, here), (NEAR - here.z) / (next.z - here.z)));
        }
    }
    for (int at = 2; at < kept; at++) draw_clipped((vec[]){cut[0], cut[at - 1], cut[at]}, seen);
}

/* Draws a box, or a wedge that is cut from the upper edge at -X to the lower edge at X. */
static void draw_box(const nowcast_entity *entity, vec size, int is_wedge, uint32_t color) {
    /* Corner number: bit 0 is +X, bit 1 is +Y, bit 2 is +Z. Faces count counter-clockwise from outside. */
    static const int BOX[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
    static const int WEDGE[5][4] = {{0, 4, 6, 2}, {0, 1, 5, 4}, {2, 6, 5, 1}, {0, 2, 1, -1}, {4, 5, 6, -1}};
    vec corners[8], face[4];
    for (int number = 0; number < 8; number++) {
        const vec local = {(number & 1 ? 0.5f : -0.5f) * size.x, (number & 2 ? 0.5f : -0.5f) * size.y,
                           (number & 4 ? 0.5f : -0.5f) * size.z};
        const vec place = {entity->position[0], entity->position[1], entity->position[2]};
        corners[number] = plus(place, rotated(entity->rotation, local));
    }
    for (int at = 0; at < (is_wedge ? 5 : 6); at++) {
        const int *numbers = is_wedge ? WEDGE[at] : BOX[at];
        int count = 0;
        while (count < 4 && numbers[count] >= 0) {
            face[count] = corners[numbers[count]];
            count++;
        }
        draw_face(face, count, color);
    }
}

/* The kind and the colour of an entity, read once for each change of its description. */
typedef struct {
    uint32_t id;
    int is_known, is_ramp, is_person;
    uint32_t color;
} known;
static known cache[KNOWN];

static const known *known_of(uint64_t world, uint32_t id, const nowcast_entity *entity) {
    known *found = &cache[id % KNOWN];
    if (found->is_known && found->id == id) return found;
    char kind[64] = "", attributes[512] = "";
    size_t length;
    nowcast_world_kind_name(world, entity->kind, kind, sizeof kind, &length);
    nowcast_world_attributes(world, id, attributes, sizeof attributes, &length);
    *found = (known){.id = id, .is_known = 1, .color = 0xb9b4a6};
    found->is_ramp = strcmp(kind, "ramp") == 0;
    found->is_person = strcmp(kind, "person") == 0;
    if (found->is_ramp) found->color = 0xd8c7a0;
    const char *color = strstr(attributes, "\"color\":\"#");
    if (color != NULL) found->color = (uint32_t)strtoul(color + 10, NULL, 16);
    return found;
}

static void draw_world(uint64_t world, uint32_t avatar, const nowcast_predicted *predicted, float yaw) {
    const float pitch = -0.25f;
    const vec place = {predicted->position[0], predicted->position[1], predicted->position[2]};
    const vec flat = {-sinf(yaw), 0, -cosf(yaw)};
    right = (vec){cosf(yaw), 0, -sinf(yaw)};
    ahead = plus(times(flat, cosf(pitch)), (vec){0, sinf(pitch), 0});
    up = cross(right, ahead);
    eye = plus(plus(place, times(flat, -EYE_DISTANCE)), (vec){0, EYE_HEIGHT, 0});
    for (int row = 0; row < HEIGHT; row++) {
        for (int column = 0; column < WIDTH; column++) {
            pixels[row][column] = SKY;
            depths[row][column] = 0;
        }
    }
    static uint32_t ids[ENTITIES_MAX];
    size_t count;
    check(nowcast_world_entities(world, ids, ENTITIES_MAX, &count));
    for (size_t at = 0; at < count; at++) {
        nowcast_entity entity;
        /* Entities on another entity, such as hands, are left out. */
        if (nowcast_world_entity(world, ids[at], &entity) != NOWCAST_STATUS_OK) continue;
        if (!entity.has_pose || entity.parent != 0) continue;
        const known *known = known_of(world, ids[at], &entity);
        vec size = {entity.scale[0], entity.scale[1], entity.scale[2]};
        if (known->is_person) size = (vec){0.5f, 1.8f, 0.4f};
        if (ids[at] == avatar) memcpy(entity.position, predicted->position, sizeof entity.position);
        draw_box(&entity, size, known->is_ramp, known->color);
    }
}

static nowcast_input input_of_keys(float yaw, int walks_alone) {
    const uint8_t *keys = SDL_GetKeyboardState(NULL);
    nowcast_input input = {.yaw = yaw, .run = keys[SDL_SCANCODE_LSHIFT], .jump = keys[SDL_SCANCODE_SPACE]};
    input.forward = (float)(keys[SDL_SCANCODE_W] - keys[SDL_SCANCODE_S]);
    input.right = (float)(keys[SDL_SCANCODE_D] - keys[SDL_SCANCODE_A]);
    if (walks_alone) input.forward = 1;
    return input;
}

/* Handles all messages that wait. */
static void update(uint64_t world) {
    nowcast_update change;
    nowcast_status status;
    while ((status = nowcast_world_update(world, 0, &change)) == NOWCAST_STATUS_OK) {
        if (change.kind == NOWCAST_UPDATE_KIND_ENTITY) cache[change.id % KNOWN].is_known = 0;
    }
    if (status != NOWCAST_STATUS_TIMED_OUT) check(status);
}

/* Writes the picture of the window. */
static int save_picture(SDL_Renderer *renderer, SDL_Texture *texture, const char *path) {
    SDL_RenderCopy(renderer, texture, NULL, NULL);
    if (SDL_RenderReadPixels(renderer, NULL, SDL_PIXELFORMAT_ARGB8888, pixels, sizeof pixels[0]) != 0) return 1;
    SDL_Surface *picture = SDL_CreateRGBSurfaceWithFormatFrom(pixels, WIDTH, HEIGHT, 32, sizeof pixels[0],
                                                              SDL_PIXELFORMAT_ARGB8888);
    const int failed = picture == NULL || SDL_SaveBMP(picture, path) != 0;
    SDL_FreeSurface(picture);
    return failed;
}

int main(int count, char **arguments) {
    if (count != 2 && count != 3) return 2;
    uint64_t channel, world;
    check(nowcast_connect(arguments[1], 10000, &channel));
    check(nowcast_world_join(channel, "Ada", NOWCAST_JOIN_PREDICT, NULL, &world));
    if (SDL_Init(SDL_INIT_VIDEO) != 0) {
        fprintf(stderr, "SDL: %s\n", SDL_GetError());
        return 1;
    }
    SDL_Window *window = SDL_CreateWindow("Nowcast", SDL_WINDOWPOS_CENTERED, SDL_WINDOWPOS_CENTERED, WIDTH, HEIGHT, 0);
    SDL_Renderer *renderer = SDL_CreateRenderer(window, -1, 0);
    SDL_Texture *texture =
        SDL_CreateTexture(renderer, SDL_PIXELFORMAT_ARGB8888, SDL_TEXTUREACCESS_STREAMING, WIDTH, HEIGHT);
    if (texture == NULL) {
        fprintf(stderr, "SDL: %s\n", SDL_GetError());
        return 1;
    }

    nowcast_predicted avatar = {0};
    nowcast_world_state state = {0};
    float yaw = 0, start[3] = {0};
    int is_running = 1, has_started = 0, frames = 0;
    uint64_t before = SDL_GetTicks64(), started = 0;
    while (is_running) {
        for (SDL_Event event; SDL_PollEvent(&event);) {
            if (event.type == SDL_QUIT) is_running = 0;
            if (event.type == SDL_KEYDOWN && event.key.keysym.sym == SDLK_ESCAPE) is_running = 0;
        }
        const uint64_t now = SDL_GetTicks64();
        const uint8_t *keys = SDL_GetKeyboardState(NULL);
        yaw += (float)(keys[SDL_SCANCODE_LEFT] - keys[SDL_SCANCODE_RIGHT]) * TURN * (float)(now - before) / 1000;
        before = now;

        update(world);
        const nowcast_input input = input_of_keys(yaw, count == 3);
        check(nowcast_world_input(world, &input));
        check(nowcast_world_advance(world, &avatar));
        if (avatar.is_predicted) {
            if (!has_started) {
                memcpy(start, avatar.position, sizeof start);
                has_started = 1;
                started = now;
            }
            check(nowcast_world_info(world, &state));
            draw_world(world, state.avatar, &avatar, yaw);
            SDL_UpdateTexture(texture, NULL, pixels, sizeof pixels[0]);
            SDL_RenderCopy(renderer, texture, NULL, NULL);
            SDL_RenderPresent(renderer);
            frames++;
        }
        if (count == 3 && has_started && now - started > 3000) is_running = 0;
        SDL_Delay(5);
    }
    printf("walked %.1f m in %d frames, %zu entities in sight\n",
           hypotf(avatar.position[0] - start[0], avatar.position[2] - start[2]), frames, state.entities);
    const int failed = count == 3 && save_picture(renderer, texture, arguments[2]);
    check(nowcast_free(world));
    check(nowcast_free(channel));
    SDL_DestroyTexture(texture);
    SDL_DestroyRenderer(renderer);
    SDL_DestroyWindow(window);
    SDL_Quit();
    return failed;
}
