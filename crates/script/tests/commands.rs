//! Chat commands of worlds.

use nowcast_script::{Limits, Live, Scenario, Script, Sources};
use nowcast_world::{Command, Event, PlayerId, Value};

const WORLD: &str = "
    local world = require('@nowcast/world')
    world.state { given = '' }
    world.command('give', {
        help = 'Gives a player things.',
        arguments = { { 'who', 'player' }, { 'item', 'text', one_of = { 'apple', 'hat' } }, { 'count', 'integer', min = 1, max = 9, default = 1 } },
        roles = { 'keeper', 'editor' },
    }, function(player, who, item, count)
        world.state.given ..= `{who.name} {item} {count}; `
        return `{who.name} has {count} {item}`
    end)
    world.command('say', { arguments = { { 'loud', 'bool' }, { 'words', 'text?' } } }, function(player, loud, words)
        world.state.given ..= `{loud} {words}; `
    end)
    world.command('break', {}, function() error('broken') end)
    world.on('message', function(player, text) world.state.given ..= text .. '; ' end)";

const TESTS: &str = "
    local test, world = require('@nowcast/test'), require('@nowcast/world')
    local function told()
        local events = test.events('tell')
        return events[#events].payload.text
    end
    test.case('a command receives its arguments in order, and answers its player alone', function()
        local ada, bo = test.join('Ada', { 'keeper' }), test.join('Bo Long')
        test.say(ada, '/give bo apple')
        test.say(ada, '/GIVE \"bo long\" hat 3 ')
        test.equal(world.state.given, 'Bo Long apple 1; Bo Long hat 3; ')
        test.equal(told(), 'Bo Long has 3 hat')
        test.equal(test.events('tell')[1].to, ada)
        test.say(bo, 'hello')
        assert(string.find(world.state.given, 'hello'), 'other lines are chat')
    end)
    test.case('a line with two slashes is chat', function()
        local ada = test.join('Ada', { 'keeper' })
        test.say(ada, '//give ada hat')
        test.equal(world.state.given, '//give ada hat; ')
        test.equal(#test.events('tell'), 0)
    end)
    test.case('an argument that does not fit is answered by its name', function()
        local ada = test.join('Ada', { 'keeper' })
        test.join('Bob')
        test.join('Bo')
        for line, answer in {
            ['/give'] = 'who is missing: the name of a player who is here. Usage: /give who item [count]',
            ['/give zoe hat'] = 'who: \"zoe\" is not the name of a player who is here',
            ['/give b hat'] = 'who: \"b\" is the beginning of several names',
            ['/give ada cat'] = 'item: \"cat\" is not one of apple, hat',
            ['/give ada hat 0'] = 'count: \"0\" is not a whole number from 1 to 9',
            ['/give ada hat 1.5'] = 'count: \"1.5\" is not a whole number',
            ['/give ada hat nan'] = 'count: \"nan\" is not a whole number',
            ['/give ada hat 1 2'] = '\"2\" is one argument too many',
            ['/say maybe'] = 'loud: \"maybe\" is not yes or no',
            ['/gvie'] = 'There is no command /gvie; did you mean `give`?',
        } do
            test.say(ada, line)
            assert(string.find(told(), answer, 1, true), `{line}: {told()}`)
        end
        test.say(ada, '/give bo hat')
        test.equal(told(), 'Bo has 1 hat')
        test.equal(world.state.given, 'Bo hat 1; ')
    end)
    test.case('a last text is the rest of the line, and may be missing', function()
        local ada = test.join('Ada')
        test.say(ada, '/say yes  two words ')
        test.say(ada, '/say no')
        test.equal(world.state.given, 'true two words; false nil; ')
    end)
    test.case('a command of a role is refused to others, and hidden from them', function()
        local ada, keeper = test.join('Ada'), test.join('Kay', { 'keeper' })
        test.say(ada, '/give ada hat')
        test.equal(told(), '/give needs the role keeper or editor')
        test.act(ada, '/give', { who = ada, item = 'hat' })
        test.equal(told(), '/give needs the role keeper or editor')
        test.equal(world.state.given, '')
        test.say(ada, '/help')
        test.equal(#test.events('tell'), 4)
        test.say(keeper, '/help give')
        test.equal(told(), '/give who item [count]: Gives a player things.')
    end)
    test.case('a program gives a command as an action', function()
        local arm = test.join_program('arm', { 'keeper' })
        local ada = test.join('Ada')
        test.act(arm, '/give', { who = ada, item = 'hat', count = 2 })
        test.act(arm, '/give', { who = ada, item = 'cat', count = 2 })
        test.equal(world.state.given, 'Ada hat 2; ')
        test.equal(told(), '/give: item is one of apple, hat. Usage: /give who item [count]')
    end)";

#[test]
fn commands_read_their_arguments_and_answer_by_name() {
    let sources = Sources::from_iter([("world.luau", WORLD), ("tests/c.luau", TESTS)]);
    let scenario =
        Scenario::new(sources, "tests/c.luau", Limits::DEFAULT).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(scenario.cases().len(), 6);
    for (case, name) in scenario.cases().iter().enumerate() {
        let failure = scenario.run(case, 1).failure.map(|fault| fault.to_string());
        assert_eq!(failure, None, "{name}");
    }
}

#[test]
fn a_failed_command_is_reported_and_its_player_is_told() {
    let mut live = Live::new(Sources::of_main(WORLD), 1, Limits::DEFAULT).expect("the script loads");
    let player = PlayerId(1);
    live.apply(Command::join(player, "Ada")).expect("the world accepts the command");
    live.apply(Command::Message { player, text: "/break".into() }).expect("the world accepts the command");
    live.step();
    let events: Vec<_> = std::iter::from_fn(|| live.poll_event()).collect();
    let told = events.iter().find_map(|event| match event {
        Event::Emitted { name, payload, .. } if name == "tell" => payload.get("text")?.as_text(),
        _ => None,
    });
    assert_eq!(told, Some("/break failed: the console of the rules has the error"));
    assert!(!events.iter().any(|event| matches!(event, Event::Said { .. })), "{events:?}");
}

#[test]
fn a_definition_lists_the_commands_for_pages() {
    let script = Script::load(&Sources::of_main(WORLD), Limits::DEFAULT).expect("the script loads");
    let actions = script.definition().actions;
    assert_eq!(
        actions.iter().map(|action| action.name.as_str()).collect::<Vec<_>>(),
        ["/give", "/say", "/break"]
    );
    let command = actions[0].hint.get("command").expect("a page knows a command");
    assert_eq!(command.get("usage").and_then(Value::as_text), Some("/give who item [count]"));
    assert_eq!(command.get("help").and_then(Value::as_text), Some("Gives a player things."));
}

#[test]
fn a_wrong_declaration_of_a_command_is_refused_by_name() {
    let many = "for i = 1, 65 do world.command('c' .. i, {}, print) end";
    for (call, problem) in [
        ("world.command('Give', {}, print)", "1 to 32 small letters"),
        ("world.command('ban', {}, print)", "/ban is a command of every server"),
        ("world.command('help', {}, print)", "/help lists the commands"),
        ("world.command('a', {}, print) world.command('a', {}, print)", "two commands are called \"a\""),
        ("world.command('a', { hlep = '' }, print)", "did you mean `help`?"),
        ("world.command('a', { arguments = { { 'n', 'f32' } } }, print)", "got \"f32\""),
        (
            "world.command('a', { arguments = { { 'n', 'text', min = 1 } } }, print)",
            "arguments[1].min is a number",
        ),
        ("world.command('a', { arguments = { { 'n', 'text?' }, { 'm', 'text' } } }, print)", "m is needed"),
        (
            "world.command('a', { arguments = { { 'n', 'text' }, { 'n', 'text' } } }, print)",
            "two arguments are called n",
        ),
        ("world.command('a', {})", "needs a function"),
        (many, "at most 64 commands"),
        ("world.on('start', function() world.command('a', {}, print) end)", ""),
    ] {
        let text = format!("local world = require('@nowcast/world')\n{call}");
        let loaded = Script::load(&Sources::of_main(&text), Limits::DEFAULT).map(drop);
        match problem {
            "" => assert!(loaded.is_ok(), "{call}"),
            problem => {
                let fault = loaded.unwrap_err();
                assert!(fault.message.contains(problem), "{call}: {fault}");
                assert_eq!(fault.line, Some(2), "{call}");
            }
        }
    }
}
