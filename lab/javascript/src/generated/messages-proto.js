// Generated from ../messages.proto by protobufjs' pbjs: -t static-module -w es6, without create, verify and convert.
/*eslint-disable block-scoped-var, id-length, no-control-regex, no-magic-numbers, no-mixed-operators, no-prototype-builtins, no-redeclare, no-shadow, no-var, sort-vars, default-case, jsdoc/require-param*/
import $protobuf from "protobufjs/minimal.js";

// Common aliases
const $Reader = $protobuf.Reader, $Writer = $protobuf.Writer, $util = $protobuf.util;
const $Object = $util.global.Object, $undefined = $util.global.undefined, $Error = $util.global.Error, $RangeError = $util.global.RangeError;

// Exported root namespace
const $root = $protobuf.roots["default"] || ($protobuf.roots["default"] = {});

export const Small = $root.Small = (() => {

    /**
     * Properties of a Small.
     * @typedef {Object} Small.$Properties
     * @property {string|null} [text] Small text
     * @property {number|null} [num] Small num
     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
     */

    /**
     * Properties of a Small.
     * @exports ISmall
     * @interface ISmall
     * @augments Small.$Properties
     * @deprecated Use Small.$Properties instead.
     */

    /**
     * Shape of a Small.
     * @typedef {Small.$Properties} Small.$Shape
     */

    /**
     * Constructs a new Small.
     * @exports Small
     * @classdesc Represents a Small.
     * @constructor
     * @param {Small.$Properties=} [properties] Properties to set
     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
     */
    const Small = function (properties) {
        if (properties)
            for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                if (properties[keys[i]] != null && keys[i] !== "__proto__")
                    this[keys[i]] = properties[keys[i]];
    };

    /**
     * Small text.
     * @member {string} text
     * @memberof Small
     * @instance
     */
    Small.prototype.text = "";

    /**
     * Small num.
     * @member {number} num
     * @memberof Small
     * @instance
     */
    Small.prototype.num = 0;

    /**
     * Encodes the specified Small message. Does not implicitly {@link Small.verify|verify} messages.
     * @function encode
     * @memberof Small
     * @static
     * @param {Small.$Properties} message Small message or plain object to encode
     * @param {$protobuf.Writer} [writer] Writer to encode to
     * @returns {$protobuf.Writer} Writer
     */
    Small.encode = function (message, writer, _depth) {
        if (!writer)
            writer = $Writer.create();
        if (_depth === $undefined)
            _depth = 0;
        if (_depth > $util.recursionLimit)
            throw $Error("max depth exceeded");
        if (message.text != null && $Object.hasOwnProperty.call(message, "text") && message.text !== "")
            writer.uint32(/* id 1, wireType 2 =*/10).string(message.text);
        if (message.num != null && $Object.hasOwnProperty.call(message, "num") && message.num !== 0)
            writer.uint32(/* id 2, wireType 0 =*/16).uint32(message.num);
        if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
            for (let i = 0; i < message.$unknowns.length; ++i)
                writer.raw(message.$unknowns[i]);
        return writer;
    };

    /**
     * Decodes a Small message from the specified reader or buffer.
     * @function decode
     * @memberof Small
     * @static
     * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
     * @param {number} [length] Message length if known beforehand
     * @returns {Small & Small.$Shape} Small
     * @throws {Error} If the payload is not a reader or valid buffer
     * @throws {$protobuf.util.ProtocolError} If required fields are missing
     */
    Small.decode = function (reader, length, _end, _depth, _target) {
        if (!(reader instanceof $Reader))
            reader = $Reader.create(reader);
        if (_depth === $undefined)
            _depth = 0;
        if (_depth > $Reader.recursionLimit)
            throw $Error("max depth exceeded");
        let end, message, value;
        if (length === $undefined)
            end = reader.len;
        else {
            end = reader.pos + length;
            if (end > reader.len)
                throw $RangeError("index out of range");
            length = reader.len;
            reader.len = end;
        }
        message = _target || new $root.Small();
        while (reader.pos < end) {
            let start = reader.pos;
            let tag = reader.tag();
            if (tag === _end) {
                _end = $undefined;
                break;
            }
            let wireType = tag & 7;
            switch (tag >>>= 3) {
            case 1: {
                    if (wireType !== 2)
                        break;
                    if ((value = reader.stringVerify()).length)
                        message.text = value;
                    else
                        delete message.text;
                    continue;
                }
            case 2: {
                    if (wireType !== 0)
                        break;
                    if (value = reader.uint32())
                        message.num = value;
                    else
                        delete message.num;
                    continue;
                }
            }
            reader.skipType(wireType, _depth, tag);
            if (!reader.discardUnknown) {
                $util.makeProp(message, "$unknowns", false);
                (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
            }
        }
        if (length !== $undefined) {
            if (reader.pos !== end)
                throw $RangeError("index out of range");
            reader.len = length;
        }
        if (_end !== $undefined)
            throw $Error("missing end group");
        return message;
    };

    return Small;
})();

export const Medium = $root.Medium = (() => {

    /**
     * Properties of a Medium.
     * @typedef {Object} Medium.$Properties
     * @property {string|null} [text] Medium text
     * @property {string|null} [text2] Medium text2
     * @property {number|null} [num] Medium num
     * @property {number|null} [decimal] Medium decimal
     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
     */

    /**
     * Properties of a Medium.
     * @exports IMedium
     * @interface IMedium
     * @augments Medium.$Properties
     * @deprecated Use Medium.$Properties instead.
     */

    /**
     * Shape of a Medium.
     * @typedef {Medium.$Properties} Medium.$Shape
     */

    /**
     * Constructs a new Medium.
     * @exports Medium
     * @classdesc Represents a Medium.
     * @constructor
     * @param {Medium.$Properties=} [properties] Properties to set
     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
     */
    const Medium = function (properties) {
        if (properties)
            for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                if (properties[keys[i]] != null && keys[i] !== "__proto__")
                    this[keys[i]] = properties[keys[i]];
    };

    /**
     * Medium text.
     * @member {string} text
     * @memberof Medium
     * @instance
     */
    Medium.prototype.text = "";

    /**
     * Medium text2.
     * @member {string} text2
     * @memberof Medium
     * @instance
     */
    Medium.prototype.text2 = "";

    /**
     * Medium num.
     * @member {number} num
     * @memberof Medium
     * @instance
     */
    Medium.prototype.num = 0;

    /**
     * Medium decimal.
     * @member {number} decimal
     * @memberof Medium
     * @instance
     */
    Medium.prototype.decimal = 0;

    /**
     * Encodes the specified Medium message. Does not implicitly {@link Medium.verify|verify} messages.
     * @function encode
     * @memberof Medium
     * @static
     * @param {Medium.$Properties} message Medium message or plain object to encode
     * @param {$protobuf.Writer} [writer] Writer to encode to
     * @returns {$protobuf.Writer} Writer
     */
    Medium.encode = function (message, writer, _depth) {
        if (!writer)
            writer = $Writer.create();
        if (_depth === $undefined)
            _depth = 0;
        if (_depth > $util.recursionLimit)
            throw $Error("max depth exceeded");
        if (message.text != null && $Object.hasOwnProperty.call(message, "text") && message.text !== "")
            writer.uint32(/* id 1, wireType 2 =*/10).string(message.text);
        if (message.text2 != null && $Object.hasOwnProperty.call(message, "text2") && message.text2 !== "")
            writer.uint32(/* id 2, wireType 2 =*/18).string(message.text2);
        if (message.num != null && $Object.hasOwnProperty.call(message, "num") && message.num !== 0)
            writer.uint32(/* id 3, wireType 0 =*/24).uint32(message.num);
        if (message.decimal != null && $Object.hasOwnProperty.call(message, "decimal") && !$Object.is(message.decimal, 0))
            writer.uint32(/* id 4, wireType 5 =*/37).float(message.decimal);
        if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
            for (let i = 0; i < message.$unknowns.length; ++i)
                writer.raw(message.$unknowns[i]);
        return writer;
    };

    /**
     * Decodes a Medium message from the specified reader or buffer.
     * @function decode
     * @memberof Medium
     * @static
     * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
     * @param {number} [length] Message length if known beforehand
     * @returns {Medium & Medium.$Shape} Medium
     * @throws {Error} If the payload is not a reader or valid buffer
     * @throws {$protobuf.util.ProtocolError} If required fields are missing
     */
    Medium.decode = function (reader, length, _end, _depth, _target) {
        if (!(reader instanceof $Reader))
            reader = $Reader.create(reader);
        if (_depth === $undefined)
            _depth = 0;
        if (_depth > $Reader.recursionLimit)
            throw $Error("max depth exceeded");
        let end, message, value;
        if (length === $undefined)
            end = reader.len;
        else {
            end = reader.pos + length;
            if (end > reader.len)
                throw $RangeError("index out of range");
            length = reader.len;
            reader.len = end;
        }
        message = _target || new $root.Medium();
        while (reader.pos < end) {
            let start = reader.pos;
            let tag = reader.tag();
            if (tag === _end) {
                _end = $undefined;
                break;
            }
            let wireType = tag & 7;
            switch (tag >>>= 3) {
            case 1: {
                    if (wireType !== 2)
                        break;
                    if ((value = reader.stringVerify()).length)
                        message.text = value;
                    else
                        delete message.text;
                    continue;
                }
            case 2: {
                    if (wireType !== 2)
                        break;
                    if ((value = reader.stringVerify()).length)
                        message.text2 = value;
                    else
                        delete message.text2;
                    continue;
                }
            case 3: {
                    if (wireType !== 0)
                        break;
                    if (value = reader.uint32())
                        message.num = value;
                    else
                        delete message.num;
                    continue;
                }
            case 4: {
                    if (wireType !== 5)
                        break;
                    if (!$Object.is(value = reader.float(), 0))
                        message.decimal = value;
                    else
                        delete message.decimal;
                    continue;
                }
            }
            reader.skipType(wireType, _depth, tag);
            if (!reader.discardUnknown) {
                $util.makeProp(message, "$unknowns", false);
                (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
            }
        }
        if (length !== $undefined) {
            if (reader.pos !== end)
                throw $RangeError("index out of range");
            reader.len = length;
        }
        if (_end !== $undefined)
            throw $Error("missing end group");
        return message;
    };

    return Medium;
})();

export const Big = $root.Big = (() => {

    /**
     * Properties of a Big.
     * @typedef {Object} Big.$Properties
     * @property {string|null} [text] Big text
     * @property {string|null} [text2] Big text2
     * @property {string|null} [text3] Big text3
     * @property {string|null} [text4] Big text4
     * @property {number|null} [num] Big num
     * @property {number|null} [decimal] Big decimal
     * @property {number|null} [num2] Big num2
     * @property {number|null} [decimal2] Big decimal2
     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
     */

    /**
     * Properties of a Big.
     * @exports IBig
     * @interface IBig
     * @augments Big.$Properties
     * @deprecated Use Big.$Properties instead.
     */

    /**
     * Shape of a Big.
     * @typedef {Big.$Properties} Big.$Shape
     */

    /**
     * Constructs a new Big.
     * @exports Big
     * @classdesc Represents a Big.
     * @constructor
     * @param {Big.$Properties=} [properties] Properties to set
     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
     */
    const Big = function (properties) {
        if (properties)
            for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                if (properties[keys[i]] != null && keys[i] !== "__proto__")
                    this[keys[i]] = properties[keys[i]];
    };

    /**
     * Big text.
     * @member {string} text
     * @memberof Big
     * @instance
     */
    Big.prototype.text = "";

    /**
     * Big text2.
     * @member {string} text2
     * @memberof Big
     * @instance
     */
    Big.prototype.text2 = "";

    /**
     * Big text3.
     * @member {string} text3
     * @memberof Big
     * @instance
     */
    Big.prototype.text3 = "";

    /**
     * Big text4.
     * @member {string} text4
     * @memberof Big
     * @instance
     */
    Big.prototype.text4 = "";

    /**
     * Big num.
     * @member {number} num
     * @memberof Big
     * @instance
     */
    Big.prototype.num = 0;

    /**
     * Big decimal.
     * @member {number} decimal
     * @memberof Big
     * @instance
     */
    Big.prototype.decimal = 0;

    /**
     * Big num2.
     * @member {number} num2
     * @memberof Big
     * @instance
     */
    Big.prototype.num2 = 0;

    /**
     * Big decimal2.
     * @member {number} decimal2
     * @memberof Big
     * @instance
     */
    Big.prototype.decimal2 = 0;

    /**
     * Encodes the specified Big message. Does not implicitly {@link Big.verify|verify} messages.
     * @function encode
     * @memberof Big
     * @static
     * @param {Big.$Properties} message Big message or plain object to encode
     * @param {$protobuf.Writer} [writer] Writer to encode to
     * @returns {$protobuf.Writer} Writer
     */
    Big.encode = function (message, writer, _depth) {
        if (!writer)
            writer = $Writer.create();
        if (_depth === $undefined)
            _depth = 0;
        if (_depth > $util.recursionLimit)
            throw $Error("max depth exceeded");
        if (message.text != null && $Object.hasOwnProperty.call(message, "text") && message.text !== "")
            writer.uint32(/* id 1, wireType 2 =*/10).string(message.text);
        if (message.text2 != null && $Object.hasOwnProperty.call(message, "text2") && message.text2 !== "")
            writer.uint32(/* id 2, wireType 2 =*/18).string(message.text2);
        if (message.text3 != null && $Object.hasOwnProperty.call(message, "text3") && message.text3 !== "")
            writer.uint32(/* id 3, wireType 2 =*/26).string(message.text3);
        if (message.text4 != null && $Object.hasOwnProperty.call(message, "text4") && message.text4 !== "")
            writer.uint32(/* id 4, wireType 2 =*/34).string(message.text4);
        if (message.num != null && $Object.hasOwnProperty.call(message, "num") && message.num !== 0)
            writer.uint32(/* id 5, wireType 0 =*/40).uint32(message.num);
        if (message.decimal != null && $Object.hasOwnProperty.call(message, "decimal") && !$Object.is(message.decimal, 0))
            writer.uint32(/* id 6, wireType 1 =*/49).double(message.decimal);
        if (message.num2 != null && $Object.hasOwnProperty.call(message, "num2") && message.num2 !== 0)
            writer.uint32(/* id 7, wireType 0 =*/56).sint32(message.num2);
        if (message.decimal2 != null && $Object.hasOwnProperty.call(message, "decimal2") && !$Object.is(message.decimal2, 0))
            writer.uint32(/* id 8, wireType 1 =*/65).double(message.decimal2);
        if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
            for (let i = 0; i < message.$unknowns.length; ++i)
                writer.raw(message.$unknowns[i]);
        return writer;
    };

    /**
     * Decodes a Big message from the specified reader or buffer.
     * @function decode
     * @memberof Big
     * @static
     * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
     * @param {number} [length] Message length if known beforehand
     * @returns {Big & Big.$Shape} Big
     * @throws {Error} If the payload is not a reader or valid buffer
     * @throws {$protobuf.util.ProtocolError} If required fields are missing
     */
    Big.decode = function (reader, length, _end, _depth, _target) {
        if (!(reader instanceof $Reader))
            reader = $Reader.create(reader);
        if (_depth === $undefined)
            _depth = 0;
        if (_depth > $Reader.recursionLimit)
            throw $Error("max depth exceeded");
        let end, message, value;
        if (length === $undefined)
            end = reader.len;
        else {
            end = reader.pos + length;
            if (end > reader.len)
                throw $RangeError("index out of range");
            length = reader.len;
            reader.len = end;
        }
        message = _target || new $root.Big();
        while (reader.pos < end) {
            let start = reader.pos;
            let tag = reader.tag();
            if (tag === _end) {
                _end = $undefined;
                break;
            }
            let wireType = tag & 7;
            switch (tag >>>= 3) {
            case 1: {
                    if (wireType !== 2)
                        break;
                    if ((value = reader.stringVerify()).length)
                        message.text = value;
                    else
                        delete message.text;
                    continue;
                }
            case 2: {
                    if (wireType !== 2)
                        break;
                    if ((value = reader.stringVerify()).length)
                        message.text2 = value;
                    else
                        delete message.text2;
                    continue;
                }
            case 3: {
                    if (wireType !== 2)
                        break;
                    if ((value = reader.stringVerify()).length)
                        message.text3 = value;
                    else
                        delete message.text3;
                    continue;
                }
            case 4: {
                    if (wireType !== 2)
                        break;
                    if ((value = reader.stringVerify()).length)
                        message.text4 = value;
                    else
                        delete message.text4;
                    continue;
                }
            case 5: {
                    if (wireType !== 0)
                        break;
                    if (value = reader.uint32())
                        message.num = value;
                    else
                        delete message.num;
                    continue;
                }
            case 6: {
                    if (wireType !== 1)
                        break;
                    if (!$Object.is(value = reader.double(), 0))
                        message.decimal = value;
                    else
                        delete message.decimal;
                    continue;
                }
            case 7: {
                    if (wireType !== 0)
                        break;
                    if (value = reader.sint32())
                        message.num2 = value;
                    else
                        delete message.num2;
                    continue;
                }
            case 8: {
                    if (wireType !== 1)
                        break;
                    if (!$Object.is(value = reader.double(), 0))
                        message.decimal2 = value;
                    else
                        delete message.decimal2;
                    continue;
                }
            }
            reader.skipType(wireType, _depth, tag);
            if (!reader.discardUnknown) {
                $util.makeProp(message, "$unknowns", false);
                (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
            }
        }
        if (length !== $undefined) {
            if (reader.pos !== end)
                throw $RangeError("index out of range");
            reader.len = length;
        }
        if (_end !== $undefined)
            throw $Error("missing end group");
        return message;
    };

    return Big;
})();

export const Batch = $root.Batch = (() => {

    /**
     * Properties of a Batch.
     * @typedef {Object} Batch.$Properties
     * @property {Array.<Big.$Properties>|null} [messages] Batch messages
     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
     */

    /**
     * Properties of a Batch.
     * @exports IBatch
     * @interface IBatch
     * @augments Batch.$Properties
     * @deprecated Use Batch.$Properties instead.
     */

    /**
     * Shape of a Batch.
     * @typedef {Batch.$Properties} Batch.$Shape
     */

    /**
     * Constructs a new Batch.
     * @exports Batch
     * @classdesc Represents a Batch.
     * @constructor
     * @param {Batch.$Properties=} [properties] Properties to set
     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
     */
    const Batch = function (properties) {
        this.messages = [];
        if (properties)
            for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                if (properties[keys[i]] != null && keys[i] !== "__proto__")
                    this[keys[i]] = properties[keys[i]];
    };

    /**
     * Batch messages.
     * @member {Array.<Big.$Properties>} messages
     * @memberof Batch
     * @instance
     */
    Batch.prototype.messages = $util.emptyArray;

    /**
     * Encodes the specified Batch message. Does not implicitly {@link Batch.verify|verify} messages.
     * @function encode
     * @memberof Batch
     * @static
     * @param {Batch.$Properties} message Batch message or plain object to encode
     * @param {$protobuf.Writer} [writer] Writer to encode to
     * @returns {$protobuf.Writer} Writer
     */
    Batch.encode = function (message, writer, _depth) {
        if (!writer)
            writer = $Writer.create();
        if (_depth === $undefined)
            _depth = 0;
        if (_depth > $util.recursionLimit)
            throw $Error("max depth exceeded");
        if (message.messages != null && message.messages.length)
            for (let i = 0; i < message.messages.length; ++i)
                $root.Big.encode(message.messages[i], writer.uint32(/* id 1, wireType 2 =*/10).fork(), _depth + 1).ldelim();
        if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
            for (let i = 0; i < message.$unknowns.length; ++i)
                writer.raw(message.$unknowns[i]);
        return writer;
    };

    /**
     * Decodes a Batch message from the specified reader or buffer.
     * @function decode
     * @memberof Batch
     * @static
     * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
     * @param {number} [length] Message length if known beforehand
     * @returns {Batch & Batch.$Shape} Batch
     * @throws {Error} If the payload is not a reader or valid buffer
     * @throws {$protobuf.util.ProtocolError} If required fields are missing
     */
    Batch.decode = function (reader, length, _end, _depth, _target) {
        if (!(reader instanceof $Reader))
            reader = $Reader.create(reader);
        if (_depth === $undefined)
            _depth = 0;
        if (_depth > $Reader.recursionLimit)
            throw $Error("max depth exceeded");
        let end, message;
        if (length === $undefined)
            end = reader.len;
        else {
            end = reader.pos + length;
            if (end > reader.len)
                throw $RangeError("index out of range");
            length = reader.len;
            reader.len = end;
        }
        message = _target || new $root.Batch();
        while (reader.pos < end) {
            let start = reader.pos;
            let tag = reader.tag();
            if (tag === _end) {
                _end = $undefined;
                break;
            }
            let wireType = tag & 7;
            switch (tag >>>= 3) {
            case 1: {
                    if (wireType !== 2)
                        break;
                    if (!(message.messages && message.messages.length))
                        message.messages = [];
                    message.messages.push($root.Big.decode(reader, reader.size(), $undefined, _depth + 1));
                    continue;
                }
            }
            reader.skipType(wireType, _depth, tag);
            if (!reader.discardUnknown) {
                $util.makeProp(message, "$unknowns", false);
                (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
            }
        }
        if (length !== $undefined) {
            if (reader.pos !== end)
                throw $RangeError("index out of range");
            reader.len = length;
        }
        if (_end !== $undefined)
            throw $Error("missing end group");
        return message;
    };

    return Batch;
})();

export const Move = $root.Move = (() => {

    /**
     * Properties of a Move.
     * @typedef {Object} Move.$Properties
     * @property {number|null} [id] Move id
     * @property {number|null} [positionX] Move positionX
     * @property {number|null} [positionY] Move positionY
     * @property {number|null} [positionZ] Move positionZ
     * @property {number|null} [eulerX] Move eulerX
     * @property {number|null} [eulerY] Move eulerY
     * @property {number|null} [eulerZ] Move eulerZ
     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
     */

    /**
     * Properties of a Move.
     * @exports IMove
     * @interface IMove
     * @augments Move.$Properties
     * @deprecated Use Move.$Properties instead.
     */

    /**
     * Shape of a Move.
     * @typedef {Move.$Properties} Move.$Shape
     */

    /**
     * Constructs a new Move.
     * @exports Move
     * @classdesc Represents a Move.
     * @constructor
     * @param {Move.$Properties=} [properties] Properties to set
     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
     */
    const Move = function (properties) {
        if (properties)
            for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                if (properties[keys[i]] != null && keys[i] !== "__proto__")
                    this[keys[i]] = properties[keys[i]];
    };

    /**
     * Move id.
     * @member {number} id
     * @memberof Move
     * @instance
     */
    Move.prototype.id = 0;

    /**
     * Move positionX.
     * @member {number} positionX
     * @memberof Move
     * @instance
     */
    Move.prototype.positionX = 0;

    /**
     * Move positionY.
     * @member {number} positionY
     * @memberof Move
     * @instance
     */
    Move.prototype.positionY = 0;

    /**
     * Move positionZ.
     * @member {number} positionZ
     * @memberof Move
     * @instance
     */
    Move.prototype.positionZ = 0;

    /**
     * Move eulerX.
     * @member {number} eulerX
     * @memberof Move
     * @instance
     */
    Move.prototype.eulerX = 0;

    /**
     * Move eulerY.
     * @member {number} eulerY
     * @memberof Move
     * @instance
     */
    Move.prototype.eulerY = 0;

    /**
     * Move eulerZ.
     * @member {number} eulerZ
     * @memberof Move
     * @instance
     */
    Move.prototype.eulerZ = 0;

    /**
     * Encodes the specified Move message. Does not implicitly {@link Move.verify|verify} messages.
     * @function encode
     * @memberof Move
     * @static
     * @param {Move.$Properties} message Move message or plain object to encode
     * @param {$protobuf.Writer} [writer] Writer to encode to
     * @returns {$protobuf.Writer} Writer
     */
    Move.encode = function (message, writer, _depth) {
        if (!writer)
            writer = $Writer.create();
        if (_depth === $undefined)
            _depth = 0;
        if (_depth > $util.recursionLimit)
            throw $Error("max depth exceeded");
        if (message.id != null && $Object.hasOwnProperty.call(message, "id") && message.id !== 0)
            writer.uint32(/* id 1, wireType 0 =*/8).uint32(message.id);
        if (message.positionX != null && $Object.hasOwnProperty.call(message, "positionX") && !$Object.is(message.positionX, 0))
            writer.uint32(/* id 2, wireType 1 =*/17).double(message.positionX);
        if (message.positionY != null && $Object.hasOwnProperty.call(message, "positionY") && !$Object.is(message.positionY, 0))
            writer.uint32(/* id 3, wireType 1 =*/25).double(message.positionY);
        if (message.positionZ != null && $Object.hasOwnProperty.call(message, "positionZ") && !$Object.is(message.positionZ, 0))
            writer.uint32(/* id 4, wireType 1 =*/33).double(message.positionZ);
        if (message.eulerX != null && $Object.hasOwnProperty.call(message, "eulerX") && message.eulerX !== 0)
            writer.uint32(/* id 5, wireType 0 =*/40).uint32(message.eulerX);
        if (message.eulerY != null && $Object.hasOwnProperty.call(message, "eulerY") && message.eulerY !== 0)
            writer.uint32(/* id 6, wireType 0 =*/48).uint32(message.eulerY);
        if (message.eulerZ != null && $Object.hasOwnProperty.call(message, "eulerZ") && message.eulerZ !== 0)
            writer.uint32(/* id 7, wireType 0 =*/56).uint32(message.eulerZ);
        if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
            for (let i = 0; i < message.$unknowns.length; ++i)
                writer.raw(message.$unknowns[i]);
        return writer;
    };

    /**
     * Decodes a Move message from the specified reader or buffer.
     * @function decode
     * @memberof Move
     * @static
     * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
     * @param {number} [length] Message length if known beforehand
     * @returns {Move & Move.$Shape} Move
     * @throws {Error} If the payload is not a reader or valid buffer
     * @throws {$protobuf.util.ProtocolError} If required fields are missing
     */
    Move.decode = function (reader, length, _end, _depth, _target) {
        if (!(reader instanceof $Reader))
            reader = $Reader.create(reader);
        if (_depth === $undefined)
            _depth = 0;
        if (_depth > $Reader.recursionLimit)
            throw $Error("max depth exceeded");
        let end, message, value;
        if (length === $undefined)
            end = reader.len;
        else {
            end = reader.pos + length;
            if (end > reader.len)
                throw $RangeError("index out of range");
            length = reader.len;
            reader.len = end;
        }
        message = _target || new $root.Move();
        while (reader.pos < end) {
            let start = reader.pos;
            let tag = reader.tag();
            if (tag === _end) {
                _end = $undefined;
                break;
            }
            let wireType = tag & 7;
            switch (tag >>>= 3) {
            case 1: {
                    if (wireType !== 0)
                        break;
                    if (value = reader.uint32())
                        message.id = value;
                    else
                        delete message.id;
                    continue;
                }
            case 2: {
                    if (wireType !== 1)
                        break;
                    if (!$Object.is(value = reader.double(), 0))
                        message.positionX = value;
                    else
                        delete message.positionX;
                    continue;
                }
            case 3: {
                    if (wireType !== 1)
                        break;
                    if (!$Object.is(value = reader.double(), 0))
                        message.positionY = value;
                    else
                        delete message.positionY;
                    continue;
                }
            case 4: {
                    if (wireType !== 1)
                        break;
                    if (!$Object.is(value = reader.double(), 0))
                        message.positionZ = value;
                    else
                        delete message.positionZ;
                    continue;
                }
            case 5: {
                    if (wireType !== 0)
                        break;
                    if (value = reader.uint32())
                        message.eulerX = value;
                    else
                        delete message.eulerX;
                    continue;
                }
            case 6: {
                    if (wireType !== 0)
                        break;
                    if (value = reader.uint32())
                        message.eulerY = value;
                    else
                        delete message.eulerY;
                    continue;
                }
            case 7: {
                    if (wireType !== 0)
                        break;
                    if (value = reader.uint32())
                        message.eulerZ = value;
                    else
                        delete message.eulerZ;
                    continue;
                }
            }
            reader.skipType(wireType, _depth, tag);
            if (!reader.discardUnknown) {
                $util.makeProp(message, "$unknowns", false);
                (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
            }
        }
        if (length !== $undefined) {
            if (reader.pos !== end)
                throw $RangeError("index out of range");
            reader.len = length;
        }
        if (_end !== $undefined)
            throw $Error("missing end group");
        return message;
    };

    return Move;
})();

export const Moves = $root.Moves = (() => {

    /**
     * Properties of a Moves.
     * @typedef {Object} Moves.$Properties
     * @property {Array.<Move.$Properties>|null} [moves] Moves moves
     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
     */

    /**
     * Properties of a Moves.
     * @exports IMoves
     * @interface IMoves
     * @augments Moves.$Properties
     * @deprecated Use Moves.$Properties instead.
     */

    /**
     * Shape of a Moves.
     * @typedef {Moves.$Properties} Moves.$Shape
     */

    /**
     * Constructs a new Moves.
     * @exports Moves
     * @classdesc Represents a Moves.
     * @constructor
     * @param {Moves.$Properties=} [properties] Properties to set
     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
     */
    const Moves = function (properties) {
        this.moves = [];
        if (properties)
            for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                if (properties[keys[i]] != null && keys[i] !== "__proto__")
                    this[keys[i]] = properties[keys[i]];
    };

    /**
     * Moves moves.
     * @member {Array.<Move.$Properties>} moves
     * @memberof Moves
     * @instance
     */
    Moves.prototype.moves = $util.emptyArray;

    /**
     * Encodes the specified Moves message. Does not implicitly {@link Moves.verify|verify} messages.
     * @function encode
     * @memberof Moves
     * @static
     * @param {Moves.$Properties} message Moves message or plain object to encode
     * @param {$protobuf.Writer} [writer] Writer to encode to
     * @returns {$protobuf.Writer} Writer
     */
    Moves.encode = function (message, writer, _depth) {
        if (!writer)
            writer = $Writer.create();
        if (_depth === $undefined)
            _depth = 0;
        if (_depth > $util.recursionLimit)
            throw $Error("max depth exceeded");
        if (message.moves != null && message.moves.length)
            for (let i = 0; i < message.moves.length; ++i)
                $root.Move.encode(message.moves[i], writer.uint32(/* id 1, wireType 2 =*/10).fork(), _depth + 1).ldelim();
        if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
            for (let i = 0; i < message.$unknowns.length; ++i)
                writer.raw(message.$unknowns[i]);
        return writer;
    };

    /**
     * Decodes a Moves message from the specified reader or buffer.
     * @function decode
     * @memberof Moves
     * @static
     * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
     * @param {number} [length] Message length if known beforehand
     * @returns {Moves & Moves.$Shape} Moves
     * @throws {Error} If the payload is not a reader or valid buffer
     * @throws {$protobuf.util.ProtocolError} If required fields are missing
     */
    Moves.decode = function (reader, length, _end, _depth, _target) {
        if (!(reader instanceof $Reader))
            reader = $Reader.create(reader);
        if (_depth === $undefined)
            _depth = 0;
        if (_depth > $Reader.recursionLimit)
            throw $Error("max depth exceeded");
        let end, message;
        if (length === $undefined)
            end = reader.len;
        else {
            end = reader.pos + length;
            if (end > reader.len)
                throw $RangeError("index out of range");
            length = reader.len;
            reader.len = end;
        }
        message = _target || new $root.Moves();
        while (reader.pos < end) {
            let start = reader.pos;
            let tag = reader.tag();
            if (tag === _end) {
                _end = $undefined;
                break;
            }
            let wireType = tag & 7;
            switch (tag >>>= 3) {
            case 1: {
                    if (wireType !== 2)
                        break;
                    if (!(message.moves && message.moves.length))
                        message.moves = [];
                    message.moves.push($root.Move.decode(reader, reader.size(), $undefined, _depth + 1));
                    continue;
                }
            }
            reader.skipType(wireType, _depth, tag);
            if (!reader.discardUnknown) {
                $util.makeProp(message, "$unknowns", false);
                (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
            }
        }
        if (length !== $undefined) {
            if (reader.pos !== end)
                throw $RangeError("index out of range");
            reader.len = length;
        }
        if (_end !== $undefined)
            throw $Error("missing end group");
        return message;
    };

    return Moves;
})();

export {
  $root as default
};
