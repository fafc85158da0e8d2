/* Known answers, as printed in RFC 9497 (appendix A.1) and RFC 9380 (appendix K.3). */
#ifndef FRE_OPRF_VECTORS_H
#define FRE_OPRF_VECTORS_H

#include <stddef.h>

/* RFC 9497 A.1.2: VOPRF mode; the info is "test key". */
static const char rfc_seed[] = "a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3";
static const char rfc_info[] = "74657374206b6579";
static const char rfc_key[] = "e6f73f344b79b379f1a0dd37e07ff62e38d9f71345ce62ae3a9bc60b04ccd909";
static const char rfc_public[] = "c803e2cc6b05fc15064549b5920659ca4a77b2cca6f04f6b357009335476ad4e";

typedef struct rfc_item {
    const char *input, *blind, *blinded, *evaluated, *output;
} rfc_item;

typedef struct rfc_vector {
    size_t n;
    rfc_item item[2];
    const char *proof, *nonce;
} rfc_vector;

static const rfc_vector rfc_vectors[] = {
    {.n = 1,
     .item =
         {
             {.input = "00",
              .blind = "64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706",
              .blinded = "863f330cc1a1259ed5a5998a23acfd37fb4351a793a5b3c090b642ddc439b945",
              .evaluated = "aa8fa048764d5623868679402ff6108d2521884fa138cd7f9c7669a9a014267e",
              .output = "b58cfbe118e0cb94d79b5fd6a6dafb98764dff49c14e1770b566e42402da1a7d"
                        "a4d8527693914139caee5bd03903af43a491351d23b430948dd50cde10d32b3c"},
         },
     .proof = "ddef93772692e535d1a53903db24367355cc2cc78de93b3be5a8ffcc6985dd06"
              "6d4346421d17bf5117a2a1ff0fcb2a759f58a539dfbe857a40bce4cf49ec600d",
     .nonce = "222a5e897cf59db8145db8d16e597e8facb80ae7d4e26d9881aa6f61d645fc0e"},
    {.n = 1,
     .item =
         {
             {.input = "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a",
              .blind = "64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706",
              .blinded = "cc0b2a350101881d8a4cba4c80241d74fb7dcbfde4a61fde2f91443c2bf9ef0c",
              .evaluated = "60a59a57208d48aca71e9e850d22674b611f752bed48b36f7a91b372bd7ad468",
              .output = "8a9a2f3c7f085b65933594309041fc1898d42d0858e59f90814ae90571a6df60"
                        "356f4610bf816f27afdd84f47719e480906d27ecd994985890e5f539e7ea74b6"},
         },
     .proof = "401a0da6264f8cf45bb2f5264bc31e109155600babb3cd4e5af7d181a2c9dc0a"
              "67154fabf031fd936051dec80b0b6ae29c9503493dde7393b722eafdf5a50b02",
     .nonce = "222a5e897cf59db8145db8d16e597e8facb80ae7d4e26d9881aa6f61d645fc0e"},
    {.n = 2,
     .item =
         {
             {.input = "00",
              .blind = "64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706",
              .blinded = "863f330cc1a1259ed5a5998a23acfd37fb4351a793a5b3c090b642ddc439b945",
              .evaluated = "aa8fa048764d5623868679402ff6108d2521884fa138cd7f9c7669a9a014267e",
              .output = "b58cfbe118e0cb94d79b5fd6a6dafb98764dff49c14e1770b566e42402da1a7d"
                        "a4d8527693914139caee5bd03903af43a491351d23b430948dd50cde10d32b3c"},
             {.input = "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a",
              .blind = "222a5e897cf59db8145db8d16e597e8facb80ae7d4e26d9881aa6f61d645fc0e",
              .blinded = "90a0145ea9da29254c3a56be4fe185465ebb3bf2a1801f7124bbbadac751e654",
              .evaluated = "cc5ac221950a49ceaa73c8db41b82c20372a4c8d63e5dded2db920b7eee36a2a",
              .output = "8a9a2f3c7f085b65933594309041fc1898d42d0858e59f90814ae90571a6df60"
                        "356f4610bf816f27afdd84f47719e480906d27ecd994985890e5f539e7ea74b6"},
         },
     .proof = "cc203910175d786927eeb44ea847328047892ddf8590e723c37205cb74600b0a"
              "5ab5337c8eb4ceae0494c2cf89529dcf94572ed267473d567aeed6ab873dee08",
     .nonce = "419c4f4f5052c53c45f3da494d2b67b220d02118e0857cdbcf037f9ea84bbe0c"},
};

/* The same seed and info in the other modes (A.1.1 OPRF, A.1.3 POPRF) and an answer of each:
 * nothing of theirs passes in ours. */
static const char oprf_mode_key[] =
    "5ebcea5ee37023ccb9fc2d2019f9d7737be85591ae8652ffa9ef0f4d37063b0e";
static const char oprf_mode_output[] =
    "527759c3d9366f277d8c6020418d96bb393ba2afb20ff90df23fb7708264e2f3"
    "ab9135e3bd69955851de4b1f9fe8a0973396719b7912ba9ee8aa7d0b5e24bcf6";
static const char poprf_mode_key[] =
    "145c79c108538421ac164ecbe131942136d5570b16d8bf41a24d4337da981e07";
static const char poprf_mode_public[] =
    "c647bef38497bc6ec077c22af65b696efa43bff3b4a1975a3e8e0a1c5a79d631";
static const char poprf_mode_blinded[] =
    "c8713aa89241d6989ac142f22dba30596db635c772cbf25021fdd8f3d461f715";
static const char poprf_mode_evaluated[] =
    "1a4b860d808ff19624731e67b5eff20ceb2df3c3c03b906f5693e2078450d874";
static const char poprf_mode_proof[] =
    "41ad1a291aa02c80b0915fbfbb0c0afa15a57e2970067a602ddb9e8fd6b7100d"
    "e32e1ecff943a36f0b10e3dae6bd266cdeb8adf825d86ef27dbc6c0e30c52206";

/* RFC 9380 K.3, expand_message_xmd with SHA-512.  The message is `start` and then `times` times
 * `fill`; as many bytes as `out` has are asked for. */
static const char xmd_dst[] = "QUUX-V01-CS02-with-expander-SHA512-256";

typedef struct xmd_vector {
    const char *start;
    size_t times;
    char fill;
    const char *out;
} xmd_vector;

static const xmd_vector xmd_vectors[] = {
    {.start = "",
     .times = 0,
     .fill = '\0',
     .out = "6b9a7312411d92f921c6f68ca0b6380730a1a4d982c507211a90964c394179ba"},
    {.start = "abc",
     .times = 0,
     .fill = '\0',
     .out = "0da749f12fbe5483eb066a5f595055679b976e93abe9be6f0f6318bce7aca8dc"},
    {.start = "abcdef0123456789",
     .times = 0,
     .fill = '\0',
     .out = "087e45a86e2939ee8b91100af1583c4938e0f5fc6c9db4b107b83346bc967f58"},
    {.start = "q128_",
     .times = 128,
     .fill = 'q',
     .out = "7336234ee9983902440f6bc35b348352013becd88938d2afec44311caf8356b3"},
    {.start = "a512_",
     .times = 512,
     .fill = 'a',
     .out = "57b5f7e766d5be68a6bfe1768e3c2b7f1228b3e4b3134956dd73a59b954c66f4"},
    {.start = "",
     .times = 0,
     .fill = '\0',
     .out = "41b037d1734a5f8df225dd8c7de38f851efdb45c372887be655212d07251b921"
            "b052b62eaed99b46f72f2ef4cc96bfaf254ebbbec091e1a3b9e4fb5e5b619d2e"
            "0c5414800a1d882b62bb5cd1778f098b8eb6cb399d5d9d18f5d5842cf5d13d7e"
            "b00a7cff859b605da678b318bd0e65ebff70bec88c753b159a805d2c89c55961"},
    {.start = "abc",
     .times = 0,
     .fill = '\0',
     .out = "7f1dddd13c08b543f2e2037b14cefb255b44c83cc397c1786d975653e36a6b11"
            "bdd7732d8b38adb4a0edc26a0cef4bb45217135456e58fbca1703cd6032cb134"
            "7ee720b87972d63fbf232587043ed2901bce7f22610c0419751c065922b48843"
            "1851041310ad659e4b23520e1772ab29dcdeb2002222a363f0c2b1c972b3efe1"},
    {.start = "abcdef0123456789",
     .times = 0,
     .fill = '\0',
     .out = "3f721f208e6199fe903545abc26c837ce59ac6fa45733f1baaf0222f8b7acb04"
            "24814fcb5eecf6c1d38f06e9d0a6ccfbf85ae612ab8735dfdf9ce84c372a77c8"
            "f9e1c1e952c3a61b7567dd0693016af51d2745822663d0c2367e3f4f0bed827f"
            "eecc2aaf98c949b5ed0d35c3f1023d64ad1407924288d366ea159f46287e61ac"},
    {.start = "q128_",
     .times = 128,
     .fill = 'q',
     .out = "b799b045a58c8d2b4334cf54b78260b45eec544f9f2fb5bd12fb603eaee70db7"
            "317bf807c406e26373922b7b8920fa29142703dd52bdf280084fb7ef69da78af"
            "df80b3586395b433dc66cde048a258e476a561e9deba7060af40adf30c64249c"
            "a7ddea79806ee5beb9a1422949471d267b21bc88e688e4014087a0b592b695ed"},
    {.start = "a512_",
     .times = 512,
     .fill = 'a',
     .out = "05b0bfef265dcee87654372777b7c44177e2ae4c13a27f103340d9cd11c86cb2"
            "426ffcad5bd964080c2aee97f03be1ca18e30a1f14e27bc11ebbd650f305269c"
            "c9fb1db08bf90bfc79b42a952b46daf810359e7bc36452684784a64952c343c5"
            "2e5124cd1f71d474d5197fefc571a92929c9084ffe1112cf5eea5192ebff330b"},
};

/* RFC 9496 decoding of the numbers 0, 2, ... 254, computed with Python's integers: which are
 * encodings of elements ('1'), 0 being the identity. */
static const char small_encodings[] =
    "1011000000110001000001011010000001000101000000001000000100000010"
    "0000011010001000110000001011010000001011100000000001010000000001";

#endif
