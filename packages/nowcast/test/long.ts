/** Whether tests run in their long form, as by `cargo xtask test --long`. */
export const isLong = process.env["NOWCAST_LONG"] !== undefined;
