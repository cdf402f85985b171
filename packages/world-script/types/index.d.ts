/// <reference path="./language.d.ts" />
/// <reference path="./api.d.ts" />
