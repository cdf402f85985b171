create table if not exists accounts (
  name text primary key,
  salt bytea not null,
  password bytea not null,
  coins integer not null check (coins >= 0)
);

-- The events of the webhook. Their ids are unique, so a repeated request changes nothing.
create table if not exists events (
  id text primary key,
  type text not null,
  room text not null,
  time timestamptz not null,
  content jsonb not null
);

create table if not exists orders (
  id text primary key references events (id),
  account text not null references accounts (name),
  item text not null,
  price integer not null,
  delivered boolean not null default false
);
